/** Ctrl-C in a one-shot command: nothing new is sent, what was written is reported as Events, and a rerun finishes. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { productCommand } from '../cluster/product.ts';
import { raw } from '../cluster/raw.ts';
import { type LiveNode, role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const NODES = 200;
const FEW = 10;
const FIRST = 20;
const RECORD = 'nodes.lailin.xyz/applied';
const TEST_MS = 120_000;
const testEnv = useTestEnv();
const { cluster } = testEnv;
const names = Array.from({ length: NODES }, (_, at) => `n${at}`);

/** @param limit of nodes: a list of all may take longer than the writes */
async function withRecord(of: string, limit = NODES): Promise<number> {
  const { items } = (await raw(cluster()).expect('GET', `/api/v1/nodes?limit=${limit}`)) as { items: LiveNode[] };
  return items.filter(({ metadata }) => metadata.annotations?.[RECORD]?.includes(`"pool":"${of}"`)).length;
}

/** Runs the command, sends Ctrl-C once the check holds, and returns how it ended. */
async function interrupted(
  args: string[],
  check: () => Promise<boolean>,
): Promise<{ code: number | null; stderr: string }> {
  const [program, ...first] = productCommand();
  const env = { ...process.env, KUBECONFIG: cluster().kubeconfig, NO_COLOR: '1' };
  const child = spawn(program, [...first, ...args, '--concurrency', '1'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', text => {
    stderr += text;
  });
  // Ended by SIGINT, which a shell reports as 130.
  const exit = new Promise<number | null>(resolve =>
    child.once('exit', (code, signal) => resolve(signal === 'SIGINT' ? 130 : code)),
  );
  await eventually('some nodes are written', async () => child.exitCode !== null || (await check()));
  child.kill('SIGINT');
  return { code: await exit, stderr };
}

/** The numbers of the last line. */
function reports(stderr: string): { written: number; left: number } {
  const [, written, left] =
    /interrupted: (\d+) nodes? written, (\d+) nodes? left; run the command again to finish\n$/.exec(stderr) ??
    assert.fail(stderr);
  return { written: Number(written), left: Number(left) };
}

/** The number of nodes in the pool's Events with this reason. */
async function reported(pool: string, reason: string): Promise<number> {
  const events = (await testEnv.events(pool)).filter(event => event.reason === reason);
  return events.reduce((sum, { note }) => sum + Number(/^(\d+) nodes?/.exec(note)?.[1] ?? 0), 0);
}

test('reconcile, move and delete stop between writes, report what is left, and can be rerun', {
  timeout: TEST_MS,
}, async () => {
  await testEnv.nodes(...names.map(name => ({ name, labels: role('p') })));
  await testEnv.pool('p', { labels: { tier: 'p' } });
  await testEnv.pool('q', { labels: { tier: 'q' } });

  const first = await interrupted(['reconcile', 'p'], async () => (await withRecord('p', FIRST)) > 0);
  assert.equal(first.code, 130, first.stderr);
  const reconciled = reports(first.stderr);
  assert.deepEqual([reconciled.written, reconciled.written + reconciled.left], [await withRecord('p'), NODES]);
  assert.equal(await reported('p', 'NodeJoined'), reconciled.written);
  assert.equal((await testEnv.getPool('p'))?.status?.status, undefined, 'no status of a pool that is half written');
  assert.equal((await cliHere(cluster(), ['reconcile'])).code, 0);
  assert.equal(await withRecord('p'), NODES);

  const second = await interrupted(
    ['move', '--from', 'p', '--to', 'q'],
    async () => (await withRecord('q', FIRST)) > 0,
  );
  assert.equal(second.code, 130, second.stderr);
  const moved = reports(second.stderr);
  assert.deepEqual([moved.written, await withRecord('p')], [await withRecord('q'), moved.left]);
  assert.equal(await reported('q', 'NodeJoined'), moved.written);
  assert.equal((await cliHere(cluster(), ['move', '--from', 'p', '--to', 'q'])).code, 0);
  assert.equal(await withRecord('q'), NODES);

  const third = await interrupted(['delete', 'q'], async () => (await withRecord('q', FIRST)) < FIRST);
  assert.equal(third.code, 130, third.stderr);
  const released = reports(third.stderr);
  assert.deepEqual([await withRecord('q'), released.written + released.left], [released.left, NODES]);
  assert.equal(await reported('q', 'NodeLeft'), released.written);
  assert.notEqual((await testEnv.getPool('q'))?.metadata.deletionTimestamp, undefined);
  assert.equal((await cliHere(cluster(), ['delete', 'q'])).code, 0);
  assert.equal(await withRecord('q'), 0);
});

test('Ctrl-C also ends a shell loop', { timeout: TEST_MS, skip: process.platform === 'win32' }, async () => {
  await testEnv.nodes(...names.map(name => ({ name, labels: role('s') })));
  await testEnv.pool('s', { labels: { tier: 's' } });
  const line = [...productCommand(), 'reconcile', 's', '--concurrency', '1'].map(word => `'${word}'`).join(' ');
  const env = { ...process.env, KUBECONFIG: cluster().kubeconfig, NO_COLOR: '1' };
  // In a process group of its own, which gets the signal as that of a terminal does.
  const shell = spawn('bash', ['-c', `for each in 1 2; do ${line}; echo "after $each"; done`], {
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [shell.stdout, shell.stderr]) stream.setEncoding('utf8').on('data', text => (said += text));
  const closed = new Promise(resolve => shell.once('close', (_, signal) => resolve(signal)));
  await eventually('some nodes are written', async () => (await withRecord('s', FIRST)) > 0);
  process.kill(-(shell.pid ?? 0), 'SIGINT');
  assert.equal(await closed, 'SIGINT', said);
  assert.match(said, /interrupted: \d+ nodes? written/);
  assert.doesNotMatch(said, /after/);
});

test('create --nodes names the nodes that are not yet labelled', { timeout: TEST_MS }, async () => {
  await testEnv.nodes(...names.map(name => ({ name })));
  const labelled = async () => {
    const path = '/api/v1/nodes?labelSelector=node-role.kubernetes.io%2Fz';
    return ((await raw(cluster()).expect('GET', path)) as { items: LiveNode[] }).items.length;
  };
  const { code, stderr } = await interrupted(
    ['create', 'z', '--nodes', names.join(',')],
    async () => (await labelled()) >= FEW,
  );
  assert.equal(code, 130, stderr);
  const [, done, left] =
    /interrupted: pool z is created, (\d+) nodes labelled, (\d+) nodes left: n\d+, .* more; next: add the remaining nodes: `kubectl nodepool add z NODE...`\n$/.exec(
      stderr,
    ) ?? assert.fail(stderr);
  assert.equal(Number(done), await labelled());
  assert.equal(Number(done) + Number(left), NODES);
});

test('uninstall --cascade reports that the CRD is still being removed', { timeout: TEST_MS }, async t => {
  await testEnv.pool('p');
  const crd = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.nodes.lailin.xyz';
  await raw(cluster()).expect('PATCH', crd, { metadata: { finalizers: ['example.com/slow'] } });
  t.after(async () => {
    await raw(cluster()).request('PATCH', crd, { metadata: { finalizers: [] } });
    await eventually('it is gone', async () => (await raw(cluster()).request('GET', crd)).status === 404);
    assert.equal((await cliHere(cluster(), ['install'])).code, 0);
  });
  const isGoing = async () => {
    const { metadata } = (await raw(cluster()).expect('GET', crd)) as { metadata: { deletionTimestamp?: string } };
    return metadata.deletionTimestamp !== undefined;
  };
  const { code, stderr } = await interrupted(['uninstall', '--cascade', '--yes'], isGoing);
  assert.equal(code, 130, stderr);
  assert.match(stderr, /interrupted: all nodes are released; the server is still deleting the CRD; next: /);
});

test('reconcile creates no further RuntimeClass after Ctrl-C', { timeout: TEST_MS }, async () => {
  const pools = Array.from({ length: 40 }, (_, at) => `w${at}`);
  await testEnv.nodes(...pools.map(name => ({ name, labels: role(name) })));
  for (const name of pools) await testEnv.pool(name, { handler: 'runc', labels: { tier: 'w' } });
  const classes = async () => {
    const { items } = (await raw(testEnv.cluster()).expect('GET', '/apis/node.k8s.io/v1/runtimeclasses')) as {
      items: object[];
    };
    return items;
  };
  const { code, stderr } = await interrupted(['reconcile'], async () => (await classes()).length >= 2);
  assert.equal(code, 130, stderr);
  const created = (await classes()).length;
  assert.ok(created < pools.length * 0.75, `${created} RuntimeClasses`);
  assert.match(stderr, /interrupted: \d+ nodes? written, \d+ nodes left; run the command again to finish\n$/);
  assert.equal((await cliHere(cluster(), ['reconcile'])).code, 0);
  assert.equal((await classes()).length, pools.length);
});
