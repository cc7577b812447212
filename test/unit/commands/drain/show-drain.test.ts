/** What a drain prints, on streams in memory; test/unit/operations tests the drain itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Connection, Deps } from '../../../../src/cli/factory.ts';
import type { Progress } from '../../../../src/cli/progress.ts';
import { SILENT } from '../../../../src/cli/progress.ts';
import { parsePace } from '../../../../src/commands/drain/pace.ts';
import { type DrainChoice, showDrain } from '../../../../src/commands/drain/show-drain.ts';
import type { Budget } from '../../../../src/nodepool/budgets.ts';
import type { Node } from '../../../../src/nodepool/types.ts';
import type { Removal } from '../../../../src/operations/drain-port.ts';
import { testIo } from '../../cli/test-io.ts';

const pool = { apiVersion: '', kind: '', metadata: { name: 'worker' }, spec: { nodeSelector: { in: 'worker' } } };
const controller = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web' };

function makeNode(name: string): Node {
  const rest = { labels: { in: 'worker' }, taints: [], ready: true, unschedulable: false, allocatable: {} };
  return { name, uid: name, resourceVersion: '1', creationTimestamp: '', ...rest };
}

/** Two nodes with a pod each, which ends at once or as the test says; cordoned nodes are empty. */
async function run(
  choice: Partial<DrainChoice> = {},
  {
    io = testIo(),
    live = SILENT as Progress,
    removal = { kind: 'gone' } as Removal,
    /** Cordoned and empty in the first list alone. */
    wasCordoned = false,
    isCordoned = false,
    pod = 'p',
    budgets = [] as Budget[],
  } = {},
) {
  const nodes = [makeNode('a'), makeNode('b')];
  let reads = 0;
  const isEmpty = () => wasCordoned && reads === 1;
  const placement = { nodeSelector: {}, nodeTerms: undefined, tolerations: [] };
  const spec = { isMirror: false, hasEmptyDir: true, controller, isReady: true, placement };
  const rest = { namespace: 'ns', phase: 'Running', ...spec };
  const connection = {
    cluster: {
      pools: {
        listCoerced: async () => [pool],
        firstNames: async () => ['worker'],
        list: async () => [pool],
      },
      nodes: {
        async list() {
          reads++;
          return nodes.map(node => ({ ...node, unschedulable: isCordoned || isEmpty() }));
        },
        patch: async (name: string) => ({ kind: 'written', node: { ...makeNode(name), unschedulable: true } }),
      },
    },
    drain: async () => ({
      podsOn: async (node: string) =>
        isEmpty() ? [] : [{ ...rest, labels: { node }, name: `${pod}-${node}`, uid: node }],
      budgets: async () => budgets,
      evict: async () => removal,
    }),
  } as unknown as Connection;
  const deps = { io, connect: async () => connection, progress: async () => live } as unknown as Deps;
  const code = await showDrain(
    {
      pools: { names: ['worker'] },
      dryRun: 'none',
      yes: false,
      pace: members => parsePace(undefined, undefined, members),
      warnOf: () => [],
      rules: { force: false, ignoreDaemonSets: false, deleteEmptyDirData: true, skipWaitForDeleteSeconds: 0 },
      podSelector: undefined,
      nodes: [],
      isRolling: false,
      gracePeriodSeconds: undefined,
      disableEviction: false,
      timeoutMs: 0,
      ...choice,
    },
    deps,
  );
  return { code, stdout: io.stdoutText(), stderr: io.stderrText() };
}

const DONE = `node/a cordoned
node/b cordoned
node/a drained
node/b drained
nodepool.nodes.lailin.xyz/worker drained (2 nodes, 2 pods)
`;
const WARNING = `warning: deleting pods with local storage: ns/p-a, ns/p-b
warning: pods will stay Pending, as every other node is cordoned or not Ready: ns/p-a, ns/p-b
`;
const HEADING = `Draining 2 nodes of pool worker, 1 at a time; all are cordoned first. Timeout for each node: none.
`;

test('prints results on stdout, the rest on stderr', async () => {
  assert.deepEqual(await run(), {
    code: 0,
    stdout: DONE,
    stderr: `${WARNING}${HEADING}evicting pod ns/p-a\npod ns/p-a evicted\nevicting pod ns/p-b\npod ns/p-b evicted\n`,
  });
});

test('prints no line per pod beside a spinner', async () => {
  const shown: string[] = [];
  const live: Progress = { update: text => void shown.push(text), stop: () => void shown.push('stop') };
  assert.deepEqual(await run({}, { live }), { code: 0, stdout: DONE, stderr: WARNING + HEADING });
  assert.equal(shown[0], 'Draining worker: 0/2 nodes');
  assert.ok(shown.includes('Draining worker: 0/2 nodes; a 1/1 pod'));
  assert.deepEqual(shown.slice(-2), ['Draining worker: 2/2 nodes', 'stop']);
});

test('changes nothing after a no', async () => {
  const io = testIo({ stdinIsTTY: true, stderrIsTTY: true, stdin: 'n\n' });
  const { code, stdout, stderr } = await run({}, { io });
  assert.deepEqual([code, stdout], [1, '']);
  const question = 'Drain pool worker: cordon 2 nodes and evict 2 pods? [y/N] ';
  assert.equal(stderr, `${WARNING}${question}nothing was drained\n`);
});

/** Of the pod on node a. */
const NEVER: Budget = {
  namespace: 'ns',
  name: 'web',
  selector: { matchLabels: { node: 'a' } },
  minAvailable: undefined,
  maxUnavailable: 0,
  alwaysAllowsUnhealthy: false,
  status: undefined,
};

test('a script needs --yes for a drain that a budget holds up for ever', async () => {
  const io = testIo();
  await assert.rejects(run({}, { io, budgets: [NEVER] }), {
    message: 'PodDisruptionBudget ns/web never allows 1 of 2 pods to be evicted; nothing was changed',
    next: 'if that is meant, run the command again with --yes',
  });
  assert.match(
    io.stderrText(),
    /^warning: PodDisruptionBudget ns\/web never allows an eviction: maxUnavailable is 0; /m,
  );
  assert.equal(io.stdoutText(), '', 'no node is cordoned');
  const two = [NEVER, { ...NEVER, name: 'all' }];
  const message = 'PodDisruptionBudgets ns/web, ns/all never allow 1 of 2 pods to be evicted; nothing was changed';
  await assert.rejects(run({}, { budgets: two }), { message });
  for (const choice of [{ yes: true }, { dryRun: 'server' }, { disableEviction: true, dryRun: 'client' }] as const) {
    assert.match((await run(choice, { budgets: [NEVER] })).stdout, /^node\/a cordoned/);
  }
});

test('a script needs --yes for pools that its command line does not name', async () => {
  const io = testIo();
  const message = '1 pool would be drained: worker; nothing was changed';
  await assert.rejects(run({ pools: { all: true } }, { io }), { message });
  assert.equal(io.stdoutText(), '', 'no node is cordoned');
  const both =
    '1 pool would be drained: worker; PodDisruptionBudget ns/web never allows 1 of 2 pods to be evicted; nothing was changed';
  await assert.rejects(run({ pools: { selector: 'a=b' } }, { budgets: [NEVER] }), { message: both });
  for (const choice of [{ yes: true }, { dryRun: 'client' }] as const) {
    assert.equal((await run({ pools: { all: true }, ...choice })).code, 0);
  }
});

test('asks about the pods that can be evicted', async () => {
  const io = testIo({ stdinIsTTY: true, stderrIsTTY: true, stdin: 'n\n' });
  const warnOf = () => ['all at once'];
  const { stderr } = await run({ warnOf }, { io, budgets: [NEVER] });
  assert.match(stderr, /^warning: all at once\nDrain pool worker: cordon 2 nodes and evict 1 of 2 pods\? /m);
});

for (const [answer, code] of [
  ['y', 0],
  ['n', 1],
] as const) {
  test(`asks again when nodes got pods after a yes (${answer})`, async () => {
    const io = testIo({ stdinIsTTY: true, stderrIsTTY: true });
    io.stdin.push('y\n');
    setTimeout(() => io.stdin.push(`${answer}\n`), 50);
    const ended = await run({}, { io, wasCordoned: true });
    const questions =
      /evict 0 pods\? \[y\/N\] (warning: .*\n)+The cluster has changed meanwhile:\nDrain pool worker: cordon 2 nodes and evict 2 pods\? \[y\/N\] /;
    assert.match(ended.stderr, questions);
    assert.deepEqual([ended.code, ended.stdout], [code, code === 0 ? DONE : '']);
  });
}

test('a dry run prints every pod, with a spinner too', async () => {
  const live: Progress = { update: () => assert.fail('nothing is drawn'), stop() {} };
  const { stdout, stderr } = await run({ dryRun: 'client' }, { live });
  assert.match(stdout, /^node\/a drained \(dry run\)$/m);
  assert.match(stderr, /^evicting pod ns\/p-a \(dry run\)\nevicting pod ns\/p-b \(dry run\)$/m);
  assert.match(stderr, /^Not checked: whether other nodes have enough free resources\.$/m);
});

test('a client dry run says that evictions are not tried', async () => {
  const notTried = /^Not tried: .* --dry-run=server has the server check each eviction\.$/m;
  assert.match((await run({ dryRun: 'client' })).stderr, notTried);
  for (const choice of [{ dryRun: 'client', disableEviction: true }, { dryRun: 'server' }] as const) {
    assert.doesNotMatch((await run(choice)).stderr, notTried);
  }
});

for (const choice of [{ yes: true }, { dryRun: 'client' }] as const) {
  test(`does not ask with ${JSON.stringify(choice)}`, async () => {
    const io = testIo({ stdinIsTTY: true, stderrIsTTY: true });
    const { code, stderr } = await run(choice, { io });
    assert.equal(code, 0);
    assert.doesNotMatch(stderr, /\[y\/N\]/);
  });
}

test('prints the remaining pods as a table and an error', async () => {
  const removal: Removal = { kind: 'budget', budget: 'web', message: 'needs 2 healthy pods' };
  const { code, stdout, stderr } = await run({ timeoutMs: 500 }, { removal });
  assert.equal(code, 1);
  assert.equal(
    stdout.slice(stdout.indexOf('NODE')),
    `NODE   STATE    PODS GONE   NOTE
a      failed   0/1         1 pod waits for PodDisruptionBudget ns/web: needs 2 healthy pods
b      failed   0/1         1 pod waits for PodDisruptionBudget ns/web: needs 2 healthy pods
`,
  );
  assert.match(
    stderr,
    /\nerror: nodepool "worker" not drained: 2 of 2 nodes left to drain; next: run the command again to continue, or make the nodes that it cordoned schedulable again: `kubectl nodepool uncordon worker`\n$/,
  );
});

test('Ctrl-C prints the table and exits with 130', async () => {
  const removal: Removal = { kind: 'budget', budget: 'web', message: 'needs 2 healthy pods' };
  const io = testIo();
  // Signal handlers are installed for the drain only.
  io.stderr.on('data', (chunk: Buffer) => {
    if (chunk.toString().includes('waits for')) process.kill(process.pid, 'SIGINT');
  });
  const { code, stdout, stderr } = await run({}, { io, removal });
  assert.equal(code, 130);
  assert.match(stdout, /^a +under way +0\/1 +1 pod waits for .*\nb +not begun +0\/1\n$/m);
  assert.match(
    stderr,
    /error: nodepool "worker" interrupted: 2 of 2 nodes left to drain; next: .* `kubectl nodepool uncordon worker`/,
  );
});

test('a server dry run ends as the drain would, with each node looked at', async () => {
  const removal: Removal = { kind: 'budget', budget: 'web', message: 'needs 2 healthy pods' };
  const pace = (members: number) => parsePace(undefined, '1', members);
  const { code, stdout, stderr } = await run({ dryRun: 'server', pace }, { removal });
  const node = (name: string) =>
    `node/${name} not drained: 1 pod waits for PodDisruptionBudget ns/web: needs 2 healthy pods (server dry run)\n`;
  const pool = 'nodepool.nodes.lailin.xyz/worker not drained: 2 of 2 nodes and 2 of 2 pods left to drain';
  assert.ok(stdout.endsWith(`${node('a')}${node('b')}${pool} (server dry run)\n`), stdout);
  assert.equal(code, 1);
  assert.doesNotMatch(stderr, /^error/m);
});

test('names the nodes to uncordon where it cordoned some of the members', async () => {
  const removal: Removal = { kind: 'budget', budget: 'web', message: 'needs 2 healthy pods' };
  const { code, stderr } = await run({ timeoutMs: 500, nodes: ['b'] }, { removal });
  assert.equal(code, 1);
  assert.match(stderr, /1 of 1 node left to drain; next: .* `kubectl nodepool uncordon worker --node b`\n$/);
});

test('names the uncordon of nodes that an earlier run cordoned', async () => {
  const removal: Removal = { kind: 'budget', budget: 'web', message: 'needs 2 healthy pods' };
  const { code, stderr } = await run({ timeoutMs: 500, nodes: ['b'] }, { removal, isCordoned: true });
  assert.equal(code, 1);
  const next =
    'run the command again to continue, or make the nodes that were cordoned before schedulable again: `kubectl nodepool uncordon worker --node b`';
  assert.ok(stderr.endsWith(`left to drain; next: ${next}\n`), stderr);
});

test('says why nodes are not begun', async () => {
  const removal: Removal = { kind: 'budget', budget: 'web', message: 'needs 2 healthy pods' };
  const pace = (members: number) => parsePace(undefined, '1', members);
  const { stdout, stderr } = await run({ timeoutMs: 500, pace, isRolling: true }, { removal });
  assert.match(
    stderr,
    /^Draining 2 nodes of pool worker, while at most 1 member is unavailable; each is cordoned right before\. /m,
  );
  assert.match(stderr, /left to drain; --max-unavailable is used up by members that failed or are not Ready; next: /);
  assert.match(stderr, /`kubectl nodepool uncordon worker --node a`\n$/);
  assert.match(stdout, /^b +not begun/m);
});

test('paints what is waited for yellow and what is drained green, and no escape of the cluster', async () => {
  const io = testIo({ color: true, errorColor: true });
  const removal: Removal = { kind: 'budget', budget: 'web', message: 'needs\u001b[31m 2' };
  const held = await run({ dryRun: 'server' }, { io, removal, pod: 'p\u001b[31m' });
  assert.match(
    held.stderr,
    /^\u001b\[33mpod ns\/p\\u001b\[31m-a on node a waits for .*: needs\\u001b\[31m 2 .*\u001b\[39m$/m,
  );
  assert.match(
    held.stdout,
    /^\u001b\[33mnode\/a not drained: 1 pod waits for .*\\u001b\[31m 2 \(server dry run\)\u001b\[39m$/m,
  );
  const gone = await run({ dryRun: 'server' }, { io: testIo({ color: true }) });
  assert.match(gone.stdout, /^\u001b\[32mnode\/a drained \(server dry run\)\u001b\[39m$/m);
});
