/** What a drain asks before it begins, and dry runs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Progress } from '../../../../src/cli/progress.ts';
import { parsePace } from '../../../../src/commands/drain/command.ts';
import type { RemovalResult } from '../../../../src/kube/cluster.ts';
import { testIo } from '../../cli/test-io.ts';
import { makeBudget } from '../../nodepool/budget.ts';
import { DONE, runDrain, WARNING } from './run-drain.ts';

test('changes nothing after a no', async () => {
  const io = testIo({ stdinIsTTY: true, stderrIsTTY: true, stdin: 'n\n' });
  const { code, stdout, stderr } = await runDrain({}, { io });
  assert.deepEqual([code, stdout], [1, '']);
  const NOT_CHECKED = 'Not checked: free resources, pod affinity, topology spread; to check, use\n      --check-fit.\n';
  const question = 'Drain pool worker: cordon 2 nodes (a, b) and evict 2 pods in context prod? [y/N] ';
  assert.equal(
    stderr,
    `${WARNING.replace(' Ready: ', '\n         Ready: ')}${NOT_CHECKED}${question}nothing was drained\n`,
  );
});

test('the question mentions that cordoned nodes are not cordoned again', async () => {
  const io = testIo({ stdinIsTTY: true, stderrIsTTY: true, stdin: 'n\n' });
  const { stderr } = await runDrain({}, { io, isCordoned: true });
  assert.match(
    stderr,
    /^Drain pool worker: evict 2 pods from 2 cordoned nodes \(a, b\) in context\s+prod\? \[y\/N\] /m,
  );
});

test('the question names nodes to cordon and the pace, and no pods if there are none', async () => {
  const ask = async (choice: Parameters<typeof runDrain>[0], hasPods = true) => {
    const io = testIo({ stdinIsTTY: true, stderrIsTTY: true, stdin: 'n\n' });
    const { stderr } = await runDrain(choice, { io, cordoned: 'a', hasPods });
    return stderr.replaceAll(/\s+/g, ' ');
  };
  const rolling = { isRolling: true, pace: (members: number) => parsePace(undefined, '1', members) };
  assert.match(await ask({}), /Drain pool worker: cordon 1 of 2 nodes \(b\) and evict 2 pods in context prod\?/);
  assert.match(
    await ask(rolling),
    /Drain pool worker, 1 node at a time: cordon 1 of 2 nodes \(b\) and evict 2 pods in/,
  );
  assert.match(await ask(rolling, false), /Drain pool worker, 1 node at a time: cordon 1 of 2 nodes \(b\) in context/);
});

/** Of the pod on node a. */
const NEVER = makeBudget({
  selector: { matchLabels: { node: 'a' } },
  minAvailable: undefined,
  maxUnavailable: 0,
  status: undefined,
});

test('a script needs --yes for a drain that a budget blocks forever', async () => {
  const io = testIo();
  await assert.rejects(runDrain({}, { io, budgets: [NEVER] }), {
    message: 'PodDisruptionBudget ns/web never allows 1 of 2 pods to be evicted; nothing was changed',
    next: 'to continue, run the command again with --yes',
  });
  assert.match(
    io.stderrText(),
    /^warning: PodDisruptionBudget ns\/web never allows an eviction: maxUnavailable is 0; /m,
  );
  assert.equal(io.stdoutText(), '', 'no node is cordoned');
  const two = [NEVER, { ...NEVER, name: 'all' }];
  const message = 'PodDisruptionBudgets ns/web, ns/all never allow 1 of 2 pods to be evicted; nothing was changed';
  await assert.rejects(runDrain({}, { budgets: two }), { message });
  for (const choice of [{ yes: true }, { dryRun: 'server' }, { disableEviction: true, dryRun: 'client' }] as const) {
    assert.match((await runDrain(choice, { budgets: [NEVER] })).stdout, /^node\/a cordoned/);
  }
});

test('a script needs --yes for pools that its command line does not name', async () => {
  const io = testIo();
  const message = '1 pool would be drained: worker; nothing was changed';
  await assert.rejects(runDrain({ pools: { all: true } }, { io }), { message });
  assert.equal(io.stdoutText(), '', 'no node is cordoned');
  const both =
    '1 pool would be drained: worker; PodDisruptionBudget ns/web never allows 1 of 2 pods to be evicted; nothing was changed';
  await assert.rejects(runDrain({ pools: { selector: 'a=b' } }, { budgets: [NEVER] }), { message: both });
  for (const choice of [{ yes: true }, { dryRun: 'client' }] as const) {
    assert.equal((await runDrain({ pools: { all: true }, ...choice })).code, 0);
  }
});

test('the question counts the pods that can be evicted', async () => {
  const io = testIo({ stdinIsTTY: true, stderrIsTTY: true, stdin: 'n\n' });
  const warnOf = () => ['all at once'];
  const { stderr } = await runDrain({ warnOf }, { io, budgets: [NEVER] });
  assert.match(
    stderr,
    /^warning: all at once\nNot checked: .*\n.*\nDrain pool worker: cordon 2 nodes \(a, b\) and evict 1 of 2 pods in context\s+prod\? /m,
  );
});

for (const [answer, code] of [
  ['y', 0],
  ['n', 1],
] as const) {
  test(`asks again when nodes got pods after a yes (${answer})`, async () => {
    const io = testIo({ stdinIsTTY: true, stderrIsTTY: true });
    io.stdin.push('y\n');
    setTimeout(() => io.stdin.push(`${answer}\n`), 50);
    const ended = await runDrain({}, { io, wasCordoned: true });
    const questions =
      /evict 0 pods from 2 cordoned nodes \(a, b\) in context\s+prod\? \[y\/N\] (warning: .*\n( .*\n)?)+Not checked: .*\n.*\nThe cluster has changed meanwhile:\nDrain pool worker: cordon 2 nodes \(a, b\) and evict 2 pods in context\s+prod\? \[y\/N\] /;
    assert.match(ended.stderr, questions);
    assert.deepEqual([ended.code, ended.stdout], [code, code === 0 ? DONE : '']);
  });
}

test('a dry run prints every pod, even with a spinner', async () => {
  const live: Progress = { update: () => assert.fail('nothing is drawn'), stop() {} };
  const { stdout, stderr } = await runDrain({ dryRun: 'client' }, { live });
  assert.match(stdout, /^node\/a drained \(dry run\)$/m);
  assert.match(stderr, /^evicting pod ns\/p-a \(dry run\)\nevicting pod ns\/p-b \(dry run\)$/m);
  assert.match(stderr, /^Not checked: free resources, pod affinity, topology spread; to check, use --check-fit\.$/m);
});

test('a client dry run mentions that evictions are not tried', async () => {
  const notTried = /^Evictions are computed .* --dry-run=server has the server check each eviction\.$/m;
  assert.match((await runDrain({ dryRun: 'client' })).stderr, notTried);
  for (const choice of [{ dryRun: 'client', disableEviction: true }, { dryRun: 'server' }] as const) {
    assert.doesNotMatch((await runDrain(choice)).stderr, notTried);
  }
});

for (const choice of [{ yes: true }, { dryRun: 'client' }] as const) {
  test(`does not ask with ${JSON.stringify(choice)}`, async () => {
    const io = testIo({ stdinIsTTY: true, stderrIsTTY: true });
    const { code, stderr } = await runDrain(choice, { io });
    assert.equal(code, 0);
    assert.doesNotMatch(stderr, /\[y\/N\]/);
  });
}

test('a client dry run does not count pods that a budget never lets go', async () => {
  const { code, stdout, stderr } = await runDrain({ dryRun: 'client' }, { budgets: [NEVER] });
  assert.match(
    stderr,
    /^pod ns\/p-a on node a waits for PodDisruptionBudget ns\/web: maxUnavailable is 0 \(dry run\)$/m,
  );
  assert.equal(
    stdout,
    `node/a cordoned (dry run)
node/b cordoned (dry run)
node/a not drained: 1 pod waits for PodDisruptionBudget ns/web: maxUnavailable is 0 (dry run)
node/b drained (dry run)
nodepool.nodes.lailin.xyz/worker not drained: 1 of 2 nodes and 1 of 2 pods left to drain (dry run)
`,
  );
  assert.equal(code, 1);
  const two = ['one', 'two'].map(name => makeBudget({ name, selector: { matchLabels: { node: 'a' } } }));
  assert.match(
    (await runDrain({ dryRun: 'client' }, { budgets: two })).stdout,
    /^node\/a not drained: 1 pod waits for several PodDisruptionBudgets: one, two \(dry run\)$/m,
  );
});

test('a server dry run ends like the drain, and checks each node', async () => {
  const removal: RemovalResult = { kind: 'budget', budget: 'web', message: 'needs 2 healthy pods' };
  const pace = (members: number) => parsePace(undefined, '1', members);
  const { code, stdout, stderr } = await runDrain({ dryRun: 'server', pace }, { removal });
  const node = (name: string) =>
    `node/${name} not drained: 1 pod waits for PodDisruptionBudget ns/web: needs 2 healthy pods (server dry run)\n`;
  const pool = 'nodepool.nodes.lailin.xyz/worker not drained: 2 of 2 nodes and 2 of 2 pods left to drain';
  assert.ok(stdout.endsWith(`${node('a')}${node('b')}${pool} (server dry run)\n`), stdout);
  assert.equal(code, 1);
  assert.doesNotMatch(stderr, /^error/m);
});
