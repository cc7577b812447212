import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Explanation } from '../../../src/nodepool/explain.ts';
import { renderWhy } from '../../../src/render/why.ts';
import { plain } from './fixtures.ts';

const NO = { kind: 'no match' } as const;

const explanation: Explanation = {
  node: 'node-a',
  owner: 'gpu',
  gone: 'gone\x1b',
  pools: [
    {
      pool: 'gpu',
      selector: [{ key: 'example.com/gpu', wanted: 'a100', live: 'a100' }],
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
      selector: [{ key: 'example.com/gpu', wanted: 'a100', live: 'a100' }],
      verdict: { kind: 'lost', to: 'gpu', rule: 'holds the node already' },
      toBeCleaned: false,
    },
    {
      pool: 'before',
      selector: [
        { key: 'node-role.kubernetes.io/before', wanted: '', live: undefined },
        { key: 'zone', wanted: 'a', live: 'b' },
        { key: 'os', wanted: 'linux', live: 'linux' },
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

test('prints each pool with the rule and every pair of the selector', () => {
  assert.equal(
    renderWhy(explanation, plain),
    `node node-a is in pool gpu

! pool gone\\u001b is gone, and left its record here: the next reconcile takes back what it set

pool gpu: the node is its member, and not pool late's, because it holds the node already, and not pool twin's, because it has the smaller name
  = example.com/gpu=a100  the node has it

pool late: it matches, but the node is pool gpu's, which holds the node already
  = example.com/gpu=a100  the node has it

pool before: it does not match
  what it set is still on the node: the next reconcile takes it back
  ! node-role.kubernetes.io/before=  the node has no such label
  ! zone=a                           the node has zone=b
  = os=linux                         the node has it

pool going: it is being deleted, and gets no nodes

pool wrong: it matches, but gets no new nodes while its spec is invalid: spec.handler: no

pool unread: its nodeSelector cannot be read; it gets no nodes`,
  );
  assert.equal(renderWhy({ node: 'n', owner: undefined, gone: undefined, pools: [] }, plain), 'node n is in no pool');
});

test('limits the output of a pool that another CRD version allowed', () => {
  const long = 'x'.repeat(1_000_000);
  const pools: Explanation['pools'] = [
    {
      pool: 'p',
      selector: [{ key: 'a', wanted: long, live: undefined }],
      verdict: { kind: 'invalid', errors: [{ field: 'spec.handler', message: long }] },
      toBeCleaned: false,
    },
  ];
  for (const line of renderWhy({ node: 'n', owner: undefined, gone: undefined, pools }, plain).split('\n')) {
    assert.ok(line.length < 2100, `${line.length} characters`);
  }
});
