import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ReconciledPool, renderSummaries } from '../../../../../src/commands/shared/reconcile/print-summary.ts';
import { colored, gpuPool, plain, workerPool } from '../../../print/fixtures.ts';

const none = { joined: 0, left: 0, updated: 0 };
const unchanged = { kind: 'unchanged' as const };

function reconciled(pool = workerPool()): ReconciledPool & { outcome: NonNullable<ReconciledPool['outcome']> } {
  const outcome = { kind: 'reconciled' as const, status: pool.status, runtimeClass: unchanged, failures: [] };
  return { pool: pool.metadata.name, outcome, ...none };
}

test('prints one line per pool', () => {
  const gpu = reconciled(gpuPool());
  const failing = reconciled();
  failing.outcome.status = { ...workerPool().status, nodeCount: 2, status: 500 };
  failing.outcome.failures = ['cannot patch nodes', 'cannot patch nodes'];
  const lines = renderSummaries(
    [
      reconciled(),
      {
        ...gpu,
        joined: 1,
        left: 2,
        updated: 4,
        outcome: { ...gpu.outcome, runtimeClass: { kind: 'created' } },
      },
      { ...failing, pool: 'batch', updated: 1 },
      { pool: 'lost', outcome: undefined, ...none },
      { ...none, pool: 'old', left: 12, outcome: { ...gpu.outcome, kind: 'released', status: undefined } },
    ],
    { suffix: '', terminalWidth: 200, isOneStep: true },
    plain,
  );
  assert.equal(
    lines,
    `
worker  Ready     2 nodes (unchanged)                                         cpu 8      memory 5.8Gi
gpu     Conflict  1 node (1 joined, 2 left, 4 updated, RuntimeClass created)  cpu 15.82  memory 64Gi   node node-1 belongs to pool worker but also matches pool gpu
batch   Failing   2 nodes (1 updated)                                         cpu 8      memory 5.8Gi  2 writes failed
lost    error                                                                                          not reconciled
old     released  12 nodes released`.slice(1),
  );
});

test('counts nodes that are NotReady', () => {
  const pool = reconciled();
  pool.outcome.status = { ...workerPool().status, nodeCount: 3, readyNodeCount: 2, status: 200 };
  const text = renderSummaries([pool], { suffix: '', terminalWidth: 200, isOneStep: true }, plain);
  assert.match(text, /^worker  \w+  3 nodes, 1 NotReady \(unchanged\)  cpu 8/);
});

test('marks every line of a dry run', () => {
  const text = renderSummaries(
    [reconciled(), reconciled()],
    { suffix: ' (server dry run)', terminalWidth: 200, isOneStep: true },
    plain,
  );
  assert.equal(text.split('\n').filter(line => line.endsWith('memory 5.8Gi  (server dry run)')).length, 2);
});

test('does not print "released" for a failed release', () => {
  const outcome = { ...reconciled().outcome, kind: 'released' as const, failures: ['cannot patch nodes'] };
  const text = renderSummaries(
    [{ ...none, pool: 'old', outcome, left: 1 }],
    { suffix: '', terminalWidth: 200, isOneStep: true },
    plain,
  );
  assert.equal(text, 'old  failing  1 node released      1 write failed');
});

test('colours the status', () => {
  const text = renderSummaries(
    [reconciled(), reconciled(gpuPool())],
    { suffix: '', terminalWidth: 200, isOneStep: true },
    colored,
  );
  assert.deepEqual(text.match(/\x1b\[3\dm[^ \x1b]+/g), ['\x1b[32mReady', '\x1b[31mConflict']);
});

test('prints a long reason on its own lines on a terminal, and in one line in a pipe', () => {
  const pool = reconciled(gpuPool());
  const status = gpuPool().status;
  const command = '`kubectl nodepool rollout resume gpu`';
  const reason = `${'ip-10-0-1-15 '.repeat(20)}turned NotReady after the change; continue with ${command}`;
  for (const condition of status?.conditions ?? []) condition.message = `${reason}\nx`;
  const render = (terminalWidth: number | undefined) =>
    renderSummaries(
      [{ ...pool, outcome: { ...pool.outcome, status } }],
      { suffix: ' (dry run)', terminalWidth, isOneStep: true },
      plain,
    );
  const [first = '', ...rest] = render(80).split('\n');
  assert.ok(first.endsWith('memory 64Gi  (dry run)'), first);
  assert.ok(rest.every(line => line.startsWith('  ') && line.length <= 80));
  assert.equal(rest.map(line => line.trim()).join(' '), `${reason}\\nx`);
  assert.ok(rest.some(line => line.includes(command)));
  assert.ok(render(undefined).endsWith(`  ${reason}\\nx  (dry run)`));
});

test('a pool with a problem also reports the remaining rollout', () => {
  const summary = reconciled();
  const left = '2 of 6 nodes updated, 2 settling';
  const next = 'to continue, run `kubectl nodepool reconcile worker --wait`';
  summary.outcome.status = {
    ...workerPool().status,
    nodeCount: 6,
    status: 503,
    conditions: [
      condition('Ready', 'False', 'NodesNotReady', 'no node is Ready'),
      condition('Progressing', 'True', 'RolloutInProgress', left),
    ],
  };
  const textOf = (settlesAfterMs?: number, isOneStep = true) => {
    const outcome = { ...summary.outcome, ...(settlesAfterMs === undefined ? {} : { settlesAfterMs }) };
    return renderSummaries([{ ...summary, outcome }], { suffix: '', terminalWidth: undefined, isOneStep }, plain);
  };
  assert.match(
    textOf(27_100),
    new RegExp(`NotReady.* no node is Ready; ${left}; the next step is due in 28s; ${next}$`),
  );
  assert.match(textOf(), new RegExp(`settling; ${next}$`));
  assert.ok(textOf(27_100, false).endsWith(left));
});

function condition(type: 'Ready' | 'Progressing', status: 'True' | 'False', reason: string, message: string) {
  return { type, status, reason, message, lastTransitionTime: '2026-05-01T12:00:00Z', observedGeneration: 1 };
}
