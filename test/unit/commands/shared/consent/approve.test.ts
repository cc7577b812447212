import assert from 'node:assert/strict';
import type { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { approver } from '../../../../../src/commands/shared/consent/approve.ts';
import { agree, NO_CHANGE, type Proposal } from '../../../../../src/commands/shared/consent/consent.ts';
import type { PlacedPod } from '../../../../../src/kube/resources/pods.ts';
import { NodepoolError } from '../../../../../src/nodepool/errors.ts';
import { testIo } from '../../../cli/test-io.ts';
import { aNode, taint } from '../../../nodepool/fixtures.ts';

const pod = (name: string, replicaSet = name): PlacedPod => ({
  namespace: 'default',
  name,
  uid: name,
  node: 'n1',
  tolerations: [],
  hasEnded: false,
  controller: { kind: 'ReplicaSet', name: replicaSet },
});
const on = (placedOn: () => Promise<PlacedPod[]>) => ({ contextName: 'prod', clusterName: 'c', pods: { placedOn } });
const access = on(async () => [pod('web')]);
const plan = {
  ...NO_CHANGE,
  nodes: [
    {
      kind: 'write' as const,
      node: aNode(),
      owner: 'p',
      previous: undefined,
      changes: [],
      patch: { resourceVersion: '1', taints: [taint('x:NoExecute')] },
    },
  ],
};
const SHOWN = /^NoExecute taints evict 1 pod at once from 1 node:\nNODE .*\nn1 .* default\/web\n/;

/** A terminal whose user answers each question once. */
function onTerminal(...answers: string[]) {
  const io = testIo({ stdinIsTTY: true, stderrIsTTY: true });
  io.stderr.on('data', (chunk: Buffer) => {
    if (!chunk.toString().endsWith('[y/N] ')) return;
    setImmediate(() => (io.stdin as PassThrough).write(`${answers.shift()}\n`));
  });
  return io;
}

test('a script without --yes ends, and a dry run only shows the plan', async () => {
  const io = testIo();
  await assert.rejects(approver({ yes: false, dryRun: false }, io, access)({ plan }), {
    message:
      'NoExecute taints evict 1 pod at once from 1 node (n1): default/web; taints ignore PodDisruptionBudgets; nothing was changed',
    next: 'to continue, run the command again with --yes',
  });
  assert.equal(io.stderrText(), '');
  for (const approval of [
    { yes: true, dryRun: false },
    { yes: false, dryRun: true },
  ]) {
    const other = testIo();
    assert.equal(await approver(approval, other, access)({ plan }), 'waived');
    assert.match(other.stderrText(), SHOWN);
  }
});

test('leaves evictions out of a dry run that shows the impact', async () => {
  const io = onTerminal();
  assert.equal(await approver({ yes: false, dryRun: true, showsImpact: true }, io, access)({ plan }), 'waived');
  assert.equal(io.stderrText(), '');
});

test('the error of a script has the facts about evictions of the question', async () => {
  const tell = async () => ({ text: 'Impact: …', losses: ['1 of them would stay Pending'] });
  const io = testIo();
  await assert.rejects(approver({ yes: false, dryRun: false }, io, access, tell)({ plan }), {
    message: /; taints ignore PodDisruptionBudgets; 1 of them would stay Pending; nothing was changed$/,
  });
  assert.equal(io.stderrText(), '');
});

test('a script without --yes ends at a question of the command, a terminal shows it', async () => {
  const question = { losses: ['1 workload names it'], covers: ['pool a'], needsYes: [] };
  const proposal = { plan: NO_CHANGE, action: 'Delete pool a', question };
  await assert.rejects(approver({ yes: false, dryRun: false }, testIo(), access)(proposal), {
    message: '1 workload names it; nothing was changed',
    next: 'to continue, run the command again with --yes',
  });
  assert.equal(await approver({ yes: true, dryRun: false }, testIo(), access)(proposal), 'waived');
  assert.equal(await approver({ yes: false, dryRun: true }, testIo(), access)(proposal), 'waived');
  assert.equal(await approver({ yes: false, dryRun: false }, onTerminal('y'), access)(proposal), 'asked');
});

test('ends when the evictions cannot be read, but only warns with --yes', async () => {
  const forbidden = new NodepoolError('cluster', 'cannot list nodes', 'ask for a role', { isPermanent: true });
  const noPods = on(async () => {
    throw forbidden;
  });
  const unknown = 'cannot tell which pods taints with the effect NoExecute would evict: cannot list nodes';
  for (const [read, by] of [
    [forbidden, access],
    [plan, noPods],
  ] as const) {
    await assert.rejects(approver({ yes: false, dryRun: false }, testIo(), by)({ plan: read }), {
      kind: 'cluster',
      message: unknown,
      next: 'ask for a role, or to continue without this check, use --yes',
      isPermanent: true,
    });
    const io = testIo();
    assert.equal(await approver({ yes: true, dryRun: false }, io, by)({ plan: read }), 'waived');
    assert.equal(io.stderrText(), `warning: ${unknown}\n`);
  }
});

test('names some pods on a terminal, and all in a file', async () => {
  const names = Array.from({ length: 9 }, (_, at) => `a-pod-of-a-long-name-${at}`);
  const many = on(async () => names.map(name => pod(name)));
  const shown = async (facts: { stderrIsTTY: boolean }) => {
    const io = testIo(facts);
    await approver({ yes: true, dryRun: false }, io, many)({ plan });
    return /^n1 .*(\n {2}.*)*$/m.exec(io.stderrText())?.[0] ?? '';
  };
  assert.ok((await shown({ stderrIsTTY: false })).endsWith(` ${names.map(name => `default/${name}`).join(',')}`));
  const [first, second, third] = names.map(name => `default/${name}`);
  const onTerminal = (await shown({ stderrIsTTY: true })).replace(/\s+/g, ' ');
  assert.ok(onTerminal.endsWith(` ${first}, ${second}, ${third} and 6 more`), onTerminal);
});

test('prints nothing when no pod would be evicted', async () => {
  const io = testIo();
  const none = on(async () => []);
  assert.equal(await approver({ yes: false, dryRun: false }, io, none)({ plan }), 'clear');
  assert.equal(await approver({ yes: false, dryRun: false }, io, access)({ plan: NO_CHANGE }), 'clear');
  assert.equal(io.stderrText(), '');
});

test('asks only about new evictions after a yes', async () => {
  const io = onTerminal('y', 'y');
  let pods = [pod('web')];
  const approve = approver(
    { yes: false, dryRun: false },
    io,
    on(async () => pods),
  );
  assert.equal(await approve({ plan }), 'asked');
  assert.equal(await approve({ plan }), 'clear');
  pods = [];
  assert.equal(await approve({ plan }), 'clear', 'fewer');
  pods = [pod('db'), pod('web')];
  assert.equal(await approve({ plan }), 'asked');
  assert.match(
    io.stderrText(),
    /The cluster has changed meanwhile:\nContinue in context prod: NoExecute taints evict 2 pods/,
  );
});

test('a later step asks only about other taints, and a no prints what was written', async () => {
  const io = onTerminal('y', 'n', 'n');
  let pods = [pod('web')];
  const approve = approver(
    { yes: false, dryRun: false },
    io,
    on(async () => pods),
  );
  assert.equal(await approve({ plan }), 'asked');
  pods = [pod('web'), pod('moved-here')];
  const written = { message: '2 nodes were written, the rest was not', command: 'x --wait' };
  assert.equal(await approve({ plan, written }), 'clear');
  const [first = assert.fail()] = plan.nodes;
  const other = { ...plan, nodes: [{ ...first, patch: { resourceVersion: '1', taints: [taint('y:NoExecute')] } }] };
  const no = { message: written.message, next: 'to continue, run `x --wait`' };
  await assert.rejects(approve({ plan: other, written }), no);
  const question = { losses: ['1 workload names it'], covers: ['pool a'] };
  await assert.rejects(approve({ plan: NO_CHANGE, question, written }), no);
  assert.match(io.stderrText(), /\] The remaining changes are different now:\nContinue /);
  assert.doesNotMatch(io.stderrText(), /The cluster has changed/);
});

test('the first question after a write of the command does not mention a changed cluster', async () => {
  const io = onTerminal('y', 'y');
  let isEdited = false;
  const written = () => (isEdited ? { message: 'pool p was edited', command: 'reconcile p' } : undefined);
  const approve = approver({ yes: false, dryRun: false, written }, io, access);
  assert.equal(await approve({ plan: NO_CHANGE }), 'clear');
  isEdited = true;
  const question = { losses: ['1 workload names it'], covers: ['pool p'] };
  assert.equal(await approve({ plan: NO_CHANGE, question }), 'asked');
  assert.doesNotMatch(io.stderrText(), /has changed/);
  assert.equal(await approve({ plan, question }), 'asked');
  assert.match(io.stderrText(), /\] The cluster has changed meanwhile:\nContinue in context prod: NoExecute taints /);
});

test('asks about an additional pod, but not about a replacement by its controller', async () => {
  const io = onTerminal('y', 'y', 'y');
  let pods = [pod('web-1', 'web'), pod('web-2', 'web')];
  const approve = approver(
    { yes: false, dryRun: false },
    io,
    on(async () => pods),
  );
  assert.equal(await approve({ plan }), 'asked');
  pods = [pod('web-3', 'web'), pod('web-4', 'web')];
  assert.equal(await approve({ plan }), 'clear', 'replaced');
  pods = [pod('web-5', 'web')];
  assert.equal(await approve({ plan }), 'clear', 'fewer');
  pods = [...pods, pod('web-6', 'web'), pod('web-7', 'web')];
  assert.equal(await approve({ plan }), 'asked', 'one more');
  pods = [pod('db-1', 'db')];
  assert.equal(await approve({ plan }), 'asked', 'of another controller');
});

test('asks the question of the command again when the yes does not cover the current state', async () => {
  const io = onTerminal('y', 'n');
  const covers = [['pool a', 'node 1'], ['pool a'], ['pool a', 'node 1', 'node 2']];
  const answers: string[] = [];
  const approve = approver({ yes: false, dryRun: false }, io, access);
  for (const each of covers) {
    answers.push(await approve({ plan: NO_CHANGE, question: { covers: each } }));
  }
  assert.deepEqual(answers, ['asked', 'clear', 'declined']);
});

test('reads and plans again after a yes, and allows only the confirmed taints', async () => {
  const proposals: Proposal[] = [{ plan }, { plan: NO_CHANGE }];
  const approve = approver({ yes: false, dryRun: false }, onTerminal('y'), access);
  const agreed = await agree(async () => proposals.shift() ?? assert.fail('read too often'), approve);
  assert.deepEqual([agreed?.proposal.plan, [...(agreed?.consent ?? ['all'])]], [NO_CHANGE, []]);
  const waived = await agree(async () => ({ plan }), approver({ yes: true, dryRun: false }, testIo(), access));
  assert.equal(waived?.consent, undefined);
});
