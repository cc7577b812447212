import assert from 'node:assert/strict';
import { afterEach, beforeEach, type TestContext, test } from 'node:test';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { productCommand } from '../cluster/product.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { dropLease, holdLease } from './controller-lease.ts';
import { type Following, start } from './following.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, refused } = commandsOf(cluster);
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';

const met = (name: string) => `nodepool.nodes.lailin.xyz/${name} condition met\n`;

// A held lease means that somebody updates the status; single tests release it.
beforeEach(() => holdLease(cluster()));
afterEach(() => dropLease(cluster()));

/** Starts the command in the background; resolves once it watches. */
async function wait(t: TestContext, ...args: string[]): Promise<Following> {
  const waiting = start(t, cluster(), [...productCommand(), 'wait', ...args, '-v', '6']);
  await eventually('it watches', () => waiting.stderr().includes('watch=true'));
  return waiting;
}

/** Waits until it exits by itself: the signal does nothing. */
async function ended(waiting: Following): Promise<{ code: number | null; stdout: string }> {
  const code = await waiting.end('SIGCONT');
  return { code, stdout: waiting.stdout() };
}

test('returns at once when the condition is met', async () => {
  await testEnv.nodes({ name: 'a', labels: role('gpu') }, { name: 'b', labels: role('gpu'), ready: false });
  await testEnv.pool('gpu');
  await testEnv.pool('cpu');
  await testEnv.reconcile();
  for (const condition of ['status=200', 'nodes=2', 'ready=1']) {
    assert.equal(await ok(['wait', 'gpu', `--for=${condition}`]), met('gpu'), condition);
  }
  assert.equal(await ok(['wait', 'gpu', 'cpu', '--for', 'status=200']), met('gpu') + met('cpu'));
  // Byte for byte as kubectl prints it.
  const theirs = await kubectl(cluster(), ['wait', 'nodepool/gpu', '--for=jsonpath={.status.nodeCount}=2']);
  assert.equal(theirs.stdout, met('gpu'));
  assert.equal(
    await ok(['wait', 'gpu', '--for=create', '--for=jsonpath={.status.nodeCount}=2']),
    met('gpu') + met('gpu'),
  );
  assert.equal(await ok(['wait', 'gpu', '--for=ready=1', '-o', 'name']), 'nodepool.nodes.lailin.xyz/gpu\n');
});

test('waits until several pools meet the condition', async t => {
  await testEnv.nodes({ name: 'a', labels: role('gpu') });
  await testEnv.pool('gpu');
  await testEnv.pool('cpu');
  const waiting = await wait(t, 'gpu', 'cpu', '--for=status=200', '--timeout=60s');
  await testEnv.reconcile('cpu');
  await waiting.has(1);
  assert.equal(waiting.stdout(), met('cpu'));
  await testEnv.reconcile('gpu');
  assert.deepEqual(await ended(waiting), { code: 0, stdout: met('cpu') + met('gpu') });
});

test('ignores a status of an older generation', async t => {
  await testEnv.nodes({ name: 'a', labels: role('gpu') });
  await testEnv.pool('gpu');
  await testEnv.reconcile();
  await testEnv.edit('gpu', { spec: { labels: { tier: 'gold' } } });
  const late = 'error: timed out waiting for the condition on nodepools/gpu';
  const error = `${late}: status.status is 200, of generation 1; the spec has generation 2`;
  await refused(['wait', 'gpu', '--for=status=200', '--timeout=1s'], 1, error);
  const waiting = await wait(t, 'gpu', '--for=status=200');
  await testEnv.reconcile();
  assert.equal((await ended(waiting)).stdout, met('gpu'));
});

test('warns once and immediately when no controller is running', async t => {
  await testEnv.nodes({ name: 'a', labels: role('gpu') });
  await testEnv.pool('gpu');
  await testEnv.reconcile();
  await dropLease(cluster());
  const warning =
    /^warning: condition Applied is from the last reconcile: nothing updates it, unless `reconcile --watch` runs elsewhere; next: run `kubectl nodepool reconcile gpu`\n$/;
  const { code, stdout, stderr } = await cliHere(cluster(), ['wait', 'gpu', '--for=condition=Applied']);
  assert.deepEqual([code, stdout], [0, met('gpu')]);
  assert.match(stderr, warning);
  const waiting = start(t, cluster(), [...productCommand(), 'wait', 'gpu', '--for=nodes=9', '--for=ready=9']);
  await eventually('it warns', () => /^warning: the status is from the last reconcile/.test(waiting.stderr()));
  await waiting.end('SIGINT');
  assert.equal(waiting.stderr().match(/^warning: /gm)?.length, 1);
  // Of others' fields, creation and deletion it says nothing.
  await ok(['wait', 'gpu', '--for=jsonpath={.metadata.name}=gpu']);
  await ok(['wait', 'gpu', '--for=create']);
});

test('does not warn about a seemingly expired lease if the condition is already met', async () => {
  await testEnv.nodes({ name: 'a', labels: role('gpu') });
  await testEnv.pool('gpu');
  await testEnv.reconcile();
  await dropLease(cluster());
  await holdLease(cluster(), new Date(Date.now() - 7_200_000));
  const { code, stderr } = await cliHere(cluster(), ['wait', 'gpu', '--for=condition=Applied']);
  assert.deepEqual([code, stderr], [0, '']);
});

test('says so if the user may not read the lease, also of a stale condition', async () => {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const rules = [{ apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools'], verbs: ['get', 'list', 'watch'] }];
  await raw(cluster()).expect('POST', `${rbac}/clusterroles`, { metadata: { name: 'waiter' }, rules });
  await raw(cluster()).expect('POST', `${rbac}/clusterrolebindings`, {
    metadata: { name: 'waiter' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'waiter' },
    subjects: [{ kind: 'User', name: 'bob' }],
  });
  await testEnv.nodes({ name: 'a', labels: role('gpu') });
  await testEnv.pool('gpu');
  await testEnv.reconcile();
  await eventually(
    'it may read',
    async () => (await cliHere(cluster(), ['get', '--cached', '--as', 'bob'])).code === 0,
  );
  const asBob = (...args: string[]) => cliHere(cluster(), ['wait', 'gpu', ...args, '--as', 'bob']);
  const warning = (what: string) =>
    new RegExp(
      `^warning: ${what} may be from the last reconcile: cannot check for a controller: user "bob" may not get Lease "kubectl-nodepool"; next: ask for a role with verb get on leases`,
    );
  const { code, stderr } = await asBob('--for=condition=Applied');
  assert.equal(code, 0);
  assert.match(stderr, warning('condition Applied'));
  await testEnv.edit('gpu', { spec: { labels: { tier: 'gold' } } });
  const stale = await asBob('--for=condition=Ready', '--timeout=1s');
  assert.equal(stale.code, 1);
  assert.match(stale.stderr, warning('condition Ready'));
});

test('times out, and with --timeout=0 checks once', async () => {
  await testEnv.pool('gpu');
  const late = 'error: timed out waiting for the condition on nodepools/gpu';
  await refused(['wait', 'gpu', '--for=ready=1', '--timeout', '500ms'], 1, `${late}: status.readyNodeCount is not set`);
  const theirs = await kubectl(cluster(), ['wait', 'nodepool/gpu', '--for=jsonpath={.status.x}=1', '--timeout=1s']);
  assert.equal(theirs.stderr.trim(), late);
  assert.equal(theirs.code, 1);
  await refused(
    ['wait', 'gpu', '--for=ready=1', '--timeout=0'],
    1,
    'error: condition not met for nodepools/gpu: status.readyNodeCount is not set',
  );
});

test('reports a pool that does not exist, except for --for=delete', async () => {
  await testEnv.pool('gpu');
  const missing = 'error: nodepool "nope" not found; next: list the pools with `kubectl nodepool get`';
  await refused(['wait', 'nope', '--for=status=200'], 1, missing);
  await refused(['wait', 'nope', '--for=delete'], 0, '');
});

test('-l and --all select the pools at the start', async () => {
  await testEnv.pool('gpu', {}, { metadata: { labels: { team: 'a' } } });
  await testEnv.pool('cpu');
  await testEnv.reconcile();
  assert.equal(await ok(['wait', '--all', '--for=status=200']), met('cpu') + met('gpu'));
  assert.equal(await ok(['wait', '-l', 'team=a', '--for=status=200']), met('gpu'));
  // As kubectl wait.
  await refused(['wait', '-l', 'team=x', '--for=status=200'], 1, 'error: no matching pools found');
  await refused(['wait', '-l', 'team=x', '--for=delete'], 0, '');
});

test('condition and jsonpath work as in kubectl wait', async () => {
  await testEnv.nodes({ name: 'a', labels: role('gpu') });
  await testEnv.pool('gpu');
  await testEnv.reconcile();
  const late = 'error: condition not met for nodepools/gpu\n';
  const cases: [condition: string, code: number, stdout: string, stderr: string][] = [
    ['condition=Ready', 0, met('gpu'), ''],
    ['condition=ready=TRUE', 0, met('gpu'), ''],
    ['condition=Ready=False', 1, '', late],
    ['condition=Nope', 1, '', late],
    ['jsonpath={.status.nodeCount}=1', 0, met('gpu'), ''],
    ['jsonpath={.status.allocatable.cpu}', 0, met('gpu'), ''],
    ['jsonpath={.status.nodeCount}=2', 1, '', late],
  ];
  // Ours adds the current value.
  const ours = async (...args: string[]) => {
    const { stderr, ...rest } = await cliHere(cluster(), args);
    return { ...rest, stderr: stderr.replace(/(nodepools\/gpu): .* (is|has) .*/, '$1') };
  };
  const both = async (condition: string) => [
    await ours('wait', 'gpu', `--for=${condition}`, '--timeout=0'),
    await kubectl(cluster(), ['wait', 'nodepool/gpu', `--for=${condition}`, '--timeout=0']),
  ];
  for (const [condition, code, stdout, stderr] of cases) {
    for (const result of await both(condition)) assert.deepEqual(result, { code, stdout, stderr }, condition);
  }
  const [our, theirs] = await both('jsonpath={.status}=2');
  const nested = 'error: jsonpath leads to a nested object or list which is not supported\n';
  assert.deepEqual([theirs?.code, theirs?.stderr, our?.code], [1, nested, 1]);
  assert.match(our?.stderr ?? '', /jsonpath leads to a nested object or list which is not supported; next: /);
  // The conditions have the older generation.
  await testEnv.edit('gpu', { spec: { labels: { tier: 'gold' } } });
  for (const result of await both('condition=Ready')) assert.deepEqual(result, { code: 1, stdout: '', stderr: late });
});

test('--for=create waits until the pool exists', async t => {
  const waiting = await wait(t, 'gpu', '--for=create', '--timeout=60s');
  await testEnv.pool('gpu');
  assert.deepEqual(await ended(waiting), { code: 0, stdout: met('gpu') });
  assert.equal(await ok(['wait', 'gpu', '--for=create']), met('gpu'));
  await refused(['wait', '--all', '--for=create'], 2, /^error: --for=create waits for pools by name; /);
});

test('--for=delete waits until the pool is deleted', async t => {
  await testEnv.nodes({ name: 'a', labels: role('gpu') });
  await testEnv.pool('gpu');
  await testEnv.reconcile();
  const waiting = await wait(t, 'gpu', '--for=delete', '--timeout=-1s');
  await raw(cluster()).expect('DELETE', `${POOLS}/gpu`);
  await testEnv.edit('gpu', { metadata: { labels: { still: 'there' } } });
  assert.equal(waiting.stdout(), '');
  await testEnv.delete(['gpu']);
  assert.deepEqual(await ended(waiting), { code: 0, stdout: met('gpu') });
});

test('a recreated pool meets a condition as in kubectl wait, a deleted one times out', async t => {
  await testEnv.pool('gpu');
  const waiting = await wait(t, 'gpu', '--for=status=200');
  await raw(cluster()).expect('DELETE', `${POOLS}/gpu`);
  await testEnv.pool('gpu');
  await testEnv.reconcile();
  assert.equal((await ended(waiting)).code, 0, waiting.stderr());
  await testEnv.pool('gone');
  const waited = await wait(t, 'gone', '--for=status=200', '--timeout=3s');
  await raw(cluster()).expect('DELETE', `${POOLS}/gone`);
  assert.equal((await ended(waited)).code, 1);
  assert.match(waited.stderr(), /^error: timed out waiting for the condition on nodepools\/gone: it was deleted$/m);
});

test('refuses wrong command lines', async () => {
  const see = "See 'kubectl nodepool wait --help'.";
  const how =
    'next: use a condition like status=200, nodes=3, ready=3, condition=Ready, jsonpath={.status.nodeCount}=3, create or delete';
  await refused(['wait', 'gpu', '--for=x'], 2, `error: --for: unrecognized condition: "x"; ${how}\n${see}`);
  await refused(
    ['wait', '--for=delete'],
    2,
    `error: no pool is specified; next: name a pool, or use -l SELECTOR or --all\n${see}`,
  );
  await refused(
    ['wait', 'gpu'],
    2,
    `error: missing flag --for; next: for example, run \`kubectl nodepool wait worker --for=status=200\`\n${see}`,
  );
  await refused(['wait', 'gpu', '--for=delete', '--timeout=x'], 2, /--timeout: "x" is not a duration/);
  const { code } = await cliHere(cluster(), ['wait', 'gpu', '--for=delete', '--timeout=-x']);
  assert.equal(code, 2);
});
