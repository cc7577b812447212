import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderWhy } from '../../../../../src/commands/shared/describe/print-why.ts';
import type { MembershipExplanation } from '../../../../../src/nodepool/membership/explain.ts';
import { plain } from '../../../print/fixtures.ts';

const NO = { kind: 'no match' } as const;

const explanation: MembershipExplanation = {
  node: 'node-a',
  owner: 'gpu',
  gone: 'gone\x1b',
  pools: [
    {
      pool: 'gpu',
      selector: [{ key: 'example.com/gpu', requirement: 'example.com/gpu=a100', isMet: true, live: 'a100' }],
      verdict: {
        kind: 'member',
        over: [
          { pool: 'late', rule: 'holds the node already' },
          { pool: 'twin', rule: 'has the smaller name' },
        ],
      },
      toBeCleaned: false,
    },
    {
      pool: 'late',
      selector: [{ key: 'example.com/gpu', requirement: 'example.com/gpu=a100', isMet: true, live: 'a100' }],
      verdict: { kind: 'lost', to: 'gpu', rule: 'holds the node already' },
      toBeCleaned: false,
    },
    {
      pool: 'before',
      selector: [
        {
          key: 'node-role.kubernetes.io/before',
          requirement: 'node-role.kubernetes.io/before=',
          isMet: false,
          live: undefined,
        },
        { key: 'zone', requirement: 'zone=a', isMet: false, live: 'b' },
        { key: 'cpu', requirement: 'cpu in (4,8)', isMet: true, live: '8' },
        { key: 'spot', requirement: '!spot', isMet: true, live: undefined },
        { key: 'os', requirement: 'os=linux', isMet: true, live: 'linux' },
      ],
      verdict: NO,
      toBeCleaned: true,
    },
    { pool: 'going', selector: [], verdict: { kind: 'deleting' }, toBeCleaned: false },
    {
      pool: 'wrong',
      selector: [],
      verdict: { kind: 'invalid', errors: [{ field: 'spec.handler', message: 'no' }] },
      toBeCleaned: false,
    },
    { pool: 'unread', selector: [], verdict: { kind: 'unknown selector', keeps: false }, toBeCleaned: false },
  ],
};

test('breaks no word and exceeds no line on a narrow terminal', () => {
  const width = 48;
  const text = renderWhy(explanation, plain, undefined, width);
  for (const line of text.split('\n')) assert.ok(line.length <= width, line);
  assert.match(text, /^ {2}! node-role\.kubernetes\.io\/before=\n {4}the node does not have this label$/m);
  assert.deepEqual(text.split(/\s+/), renderWhy(explanation, plain).split(/\s+/));
});

test('prints each pool with the rule and every pair of the selector', () => {
  assert.equal(
    renderWhy(explanation, plain),
    `node node-a is in pool gpu

! deleted pool gone\\u001b left its record on this node: the next reconcile removes what the pool set

pool gpu: owns the node (it had the node first; late matches too; its name sorts first; twin matches too)
  = example.com/gpu=a100  the node has this label

pool late: matches, but pool gpu owns the node (it had the node first)
  = example.com/gpu=a100  the node has this label

pool before: does not match
  the node still has what the pool set: the next reconcile removes it
  ! node-role.kubernetes.io/before=  the node does not have this label
  ! zone=a                           the node has zone=b
  = cpu in (4,8)                     the node has cpu=8
  = !spot                            the node does not have this label
  = os=linux                         the node has this label

pool going: is being deleted and gets no nodes

pool wrong: matches, but gets no new nodes while its spec is invalid: spec.handler: no

pool unread: has an unreadable selector; the pool gets no nodes`,
  );
  assert.equal(renderWhy({ node: 'n', owner: undefined, gone: undefined, pools: [] }, plain), 'node n is in no pool');
});

test('limits the output of a pool that another CRD version allowed', () => {
  const long = 'x'.repeat(1_000_000);
  const pools: MembershipExplanation['pools'] = [
    {
      pool: 'p',
      selector: [{ key: 'a', requirement: `a=${long}`, isMet: false, live: undefined }],
      verdict: { kind: 'invalid', errors: [{ field: 'spec.handler', message: long }] },
      toBeCleaned: false,
    },
  ];
  for (const line of renderWhy({ node: 'n', owner: undefined, gone: undefined, pools }, plain).split('\n')) {
    assert.ok(line.length < 2100, `${line.length} characters`);
  }
});

test('prints startup taints with the owner', () => {
  const agent = { key: 'agent', value: 'x', effect: 'NoSchedule' as const };
  const startup = [
    { taint: agent, isHeld: true, until: 'AgentReady\x1b', isGivenAgain: false },
    { taint: { ...agent, key: 'setup' }, isHeld: true, until: undefined, isGivenAgain: true },
    { taint: { ...agent, key: 'gone' }, isHeld: false, until: 'x', isGivenAgain: false },
    { taint: { ...agent, key: 'again' }, isHeld: false, until: undefined, isGivenAgain: true },
  ];
  const member = { pool: 'p', selector: [], verdict: { kind: 'member' as const, over: [] }, toBeCleaned: false };
  const pools: MembershipExplanation['pools'] = [member, { ...member, pool: 'q', verdict: NO }];
  assert.equal(
    renderWhy({ node: 'n', owner: 'p', gone: undefined, pools, startup }, plain),
    `node n is in pool p

pool p: owns the node
  startup taint agent=x:NoSchedule: on the node until the condition AgentReady\\u001b of the node is True
  startup taint setup=x:NoSchedule: on the node until somebody removes it
  startup taint gone=x:NoSchedule: removed or never set; not set again
  startup taint again=x:NoSchedule: removed or never set; set again when the node boots

pool q: does not match`,
  );
});
