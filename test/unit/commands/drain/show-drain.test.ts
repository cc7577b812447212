/** What a drain prints, on streams in memory; test/unit/operations tests the drain itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Progress } from '../../../../src/cli/progress.ts';
import { parsePace } from '../../../../src/commands/drain/command.ts';
import type { RemovalOptions, RemovalResult } from '../../../../src/kube/cluster.ts';
import { testIo } from '../../cli/test-io.ts';
import { DONE, HEADING, runDrain, WARNING } from './run-drain.ts';

test('prints results on stdout, the rest on stderr', async () => {
  assert.deepEqual(await runDrain(), {
    code: 0,
    stdout: DONE,
    stderr: `${WARNING}${HEADING}evicting pod ns/p-a\npod ns/p-a evicted\nevicting pod ns/p-b\npod ns/p-b evicted\n`,
  });
});

test('passes the grace period and --disable-eviction to the client of pods', async () => {
  const opened: RemovalOptions[] = [];
  await runDrain({ gracePeriodSeconds: 0, disableEviction: true }, { opened });
  assert.deepEqual(opened, [{ gracePeriodSeconds: 0, disableEviction: true }]);
});

test('prints no line for each pod beside a spinner', async () => {
  const shown: string[] = [];
  const live: Progress = { update: text => void shown.push(text), stop: () => void shown.push('stop') };
  assert.deepEqual(await runDrain({}, { live }), { code: 0, stdout: DONE, stderr: WARNING + HEADING });
  assert.equal(shown[0], 'Draining worker: 0/2 nodes');
  assert.ok(shown.includes('Draining worker: 0/2 nodes; a 1/1 pod'));
  assert.deepEqual(shown.slice(-2), ['Draining worker: 2/2 nodes', 'stop']);
});

test('prints the remaining pods as a table and an error', async () => {
  const removal: RemovalResult = { kind: 'budget', budget: 'web', message: 'needs 2 healthy pods' };
  const { code, stdout, stderr } = await runDrain({ timeoutMs: 500 }, { removal });
  assert.equal(code, 1);
  assert.equal(
    stdout.slice(stdout.indexOf('NODE')),
    `NODE   STATE    EVICTED   NOTE
a      failed   0/1       1 pod waits for PodDisruptionBudget ns/web: needs 2 healthy pods
b      failed   0/1       1 pod waits for PodDisruptionBudget ns/web: needs 2 healthy pods
`,
  );
  assert.match(
    stderr,
    /\nerror: nodepool "worker" not drained: 2 of 2 nodes left to drain; next: run the command again to continue; to make the nodes that this drain cordoned schedulable again: `kubectl nodepool uncordon worker`\n$/,
  );
});

test('Ctrl-C prints the table and exits with 130', async () => {
  const removal: RemovalResult = { kind: 'budget', budget: 'web', message: 'needs 2 healthy pods' };
  const io = testIo();
  // Signal handlers are installed for the drain only.
  io.stderr.on('data', (chunk: Buffer) => {
    if (chunk.toString().includes('waits for')) process.kill(process.pid, 'SIGINT');
  });
  const { code, stdout, stderr } = await runDrain({}, { io, removal });
  assert.equal(code, 130);
  assert.match(stdout, /^a +in progress +0\/1 +1 pod waits for .*\nb +pending +0\/1\n$/m);
  assert.match(
    stderr,
    /error: nodepool "worker" interrupted: 2 of 2 nodes left to drain; next: .* `kubectl nodepool uncordon worker`/,
  );
});

test('names the nodes to uncordon when it cordoned only some of the members', async () => {
  const removal: RemovalResult = { kind: 'budget', budget: 'web', message: 'needs 2 healthy pods' };
  const { code, stderr } = await runDrain({ timeoutMs: 500, nodes: ['b'] }, { removal });
  assert.equal(code, 1);
  assert.match(stderr, /1 of 1 node left to drain; next: .* `kubectl nodepool uncordon worker --node b`\n$/);
});

test('suggests uncordon for nodes that an earlier run cordoned', async () => {
  const removal: RemovalResult = { kind: 'budget', budget: 'web', message: 'needs 2 healthy pods' };
  const { code, stderr } = await runDrain({ timeoutMs: 500, nodes: ['b'] }, { removal, isCordoned: true });
  assert.equal(code, 1);
  const next =
    'run the command again to continue; to make the nodes that were cordoned before schedulable again: `kubectl nodepool uncordon worker --node b`';
  assert.ok(stderr.endsWith(`left to drain; next: ${next}\n`), stderr);
});

test('names why nodes were not started', async () => {
  const removal: RemovalResult = { kind: 'budget', budget: 'web', message: 'needs 2 healthy pods' };
  const pace = (members: number) => parsePace(undefined, '1', members);
  const { stdout, stderr } = await runDrain({ timeoutMs: 500, pace, isRolling: true }, { removal });
  assert.match(
    stderr,
    /^Draining 2 nodes of pool worker, at most 1 at a time, including failed and NotReady nodes; each node is cordoned right before its drain and stays cordoned\. /m,
  );
  assert.match(stderr, /left to drain; members that failed or are not Ready use up --max-unavailable; next: /);
  assert.match(stderr, /`kubectl nodepool uncordon worker --node a`\n$/);
  assert.match(stdout, /^b +pending/m);
});

test('names pods that tolerate a cordon before the drain, and counts returned pods afterwards', async () => {
  const { code, stdout, stderr } = await runDrain({}, { tolerations: [{ operator: 'Exists' }] });
  assert.equal(code, 0);
  assert.match(stderr, /^warning: these pods tolerate a cordon and may come back: ns\/p-a, ns\/p-b$/m);
  assert.match(stdout, /worker drained \(2 nodes, 2 pods\); 2 pods that tolerate a cordon came back\n$/);
  assert.match(stderr, /\nwarning: pods run on drained nodes: ns\/p-a, ns\/p-b; next: scale down their controllers, /);
});

test('names pods that have been terminating too long to wait for', async () => {
  const rules = { force: false, ignoreDaemonSets: false, deleteEmptyDirData: true, skipWaitForDeleteSeconds: 60 };
  const { code, stdout, stderr } = await runDrain({ rules }, { deletionTimestamp: '2020-01-01T00:00:00Z' });
  assert.equal(code, 0);
  assert.match(stderr, /^warning: not waiting for pods that are terminating for more than 60 s: ns\/p-a, ns\/p-b$/m);
  assert.match(stdout, /worker drained \(2 nodes, 0 pods\); 2 pods are still terminating: ns\/p-a, ns\/p-b\n$/);
});

test('colours waiting pods yellow and drained nodes green, and escapes colours of the cluster', async () => {
  const io = testIo({ color: true, errorColor: true });
  const removal: RemovalResult = { kind: 'budget', budget: 'web', message: 'needs\u001b[31m 2' };
  const held = await runDrain({ dryRun: 'server' }, { io, removal, pod: 'p\u001b[31m' });
  assert.match(
    held.stderr,
    /^\u001b\[33mpod ns\/p\\u001b\[31m-a on node a waits for .*: needs\\u001b\[31m 2 .*\u001b\[39m$/m,
  );
  assert.match(
    held.stdout,
    /^\u001b\[33mnode\/a not drained: 1 pod waits for .*\\u001b\[31m 2 \(server dry run\)\u001b\[39m$/m,
  );
  const gone = await runDrain({ dryRun: 'server' }, { io: testIo({ color: true }) });
  assert.match(gone.stdout, /^\u001b\[32mnode\/a drained \(server dry run\)\u001b\[39m$/m);
});
