/**
 * The preview of NoExecute evictions, compared with the taint eviction of kube-controller-manager; kwok acts as the
 * kubelets.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cli } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf, inTerminal, NO_TERMINAL } from './commands.ts';
import { useFullTestEnv } from './full-test-env.ts';
import { role, taintsOf } from './test-env.ts';
import { eventually } from './watching.ts';

const TEST_MS = 120_000;
const PODS = '/api/v1/namespaces/default/pods';
const DAEMON_SETS = '/apis/apps/v1/namespaces/default/daemonsets';
const CONTAINERS = [{ name: 'main', image: 'registry.example.com/main:1' }];
const DRAINING = { key: 'draining', value: 'now', effect: 'NoExecute' as const };
const SAYS_NO = /; nothing was changed; next: to continue, run the command again with --yes\n$/;

interface Pod {
  metadata: { name: string; uid: string; deletionTimestamp?: string };
  spec: { nodeName?: string };
  status: { phase: string };
}

describe('NoExecute', () => {
  const testEnv = useFullTestEnv();
  const { cluster } = testEnv;
  const { refused, ok } = commandsOf(cluster);
  const api = () => raw(cluster());
  const pods = async () => ((await api().expect('GET', PODS)) as { items: Pod[] }).items;

  /** A pod that is bound to the node without waiting for the scheduler. */
  async function pod(name: string, node: string, spec: object = {}, metadata: object = {}): Promise<void> {
    await api().expect('POST', PODS, {
      metadata: { name, ...metadata },
      spec: { nodeName: node, containers: CONTAINERS, terminationGracePeriodSeconds: 0, ...spec },
    });
  }

  async function daemonSet(name: string, spec: object = {}): Promise<void> {
    const labels = { app: name };
    const template = { metadata: { labels }, spec: { containers: CONTAINERS, ...spec } };
    await api().expect('POST', DAEMON_SETS, {
      metadata: { name },
      spec: { selector: { matchLabels: labels }, template },
    });
  }

  /** Pods of each kind that taint eviction treats differently. */
  async function workload(t: { after(fn: () => unknown): void }, ...nodes: string[]): Promise<void> {
    t.after(async () => {
      // Before the pods, which it would recreate.
      await api().expect('DELETE', `${DAEMON_SETS}?propagationPolicy=Background`);
      await api().expect('DELETE', PODS);
      await eventually('the pods go', async () => (await pods()).length === 0);
    });
    await daemonSet('agent', { nodeSelector: { work: 'yes' } });
    await daemonSet('tolerant-agent', { nodeSelector: { work: 'yes' }, tolerations: [{ operator: 'Exists' }] });
    for (const node of nodes) {
      const named = (name: string) => `${name}-${node}`;
      await pod(named('bare'), node);
      await pod(named('tolerant'), node, { tolerations: [{ key: 'draining', operator: 'Exists' }] });
      await pod(named('other-value'), node, { tolerations: [{ key: 'draining', value: 'later' }] });
      await pod(named('other-effect'), node, {
        tolerations: [{ key: 'draining', operator: 'Exists', effect: 'NoSchedule' }],
      });
      await pod(named('patient'), node, {
        tolerations: [{ key: 'draining', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 3600 }],
      });
      await pod(named('mirror'), node, {}, { annotations: { 'kubernetes.io/config.mirror': 'x' } });
      await pod(named('ended'), node, { restartPolicy: 'Never' });
    }
    const all = async () => {
      const found = await pods();
      return found.length >= nodes.length * 8 && found.every(({ status }) => status.phase === 'Running');
    };
    await eventually('all run', all);
    for (const node of nodes) {
      await api().expect('PATCH', `${PODS}/ended-${node}/status`, { status: { phase: 'Succeeded' } });
    }
  }

  const uids = async (node: string) =>
    new Set((await pods()).filter(({ spec }) => spec.nodeName === node).map(({ metadata }) => metadata.uid));

  /** How many of the earlier pods are deleted, once the number is stable. */
  async function evicted(earlier: Set<string>, node: string): Promise<number> {
    let last = -1;
    await eventually('the evictions end', async () => {
      const now = await uids(node);
      const gone = [...earlier].filter(uid => !now.has(uid)).length;
      const isStill = gone === last && gone > 0;
      last = gone;
      await new Promise(resolve => setTimeout(resolve, 1500));
      return isStill;
    });
    return last;
  }

  const numberIn = (text: string, pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? assert.fail(text));

  test('the preview counts the pods that the taint then evicts', { timeout: TEST_MS }, async t => {
    await testEnv.nodes({ name: 'a', labels: { work: 'yes' } }, { name: 'b', labels: { work: 'yes' } }, { name: 'c' });
    await testEnv.pool('strict', { taints: [DRAINING] });
    await workload(t, 'a', 'b');

    await refused(['add', 'strict', 'a'], 1, /^error: NoExecute taints evict \d+ pods at once, and 1 pod after /);
    const { stderr } = await cli(cluster(), ['add', 'strict', 'a']);
    assert.match(stderr, SAYS_NO);
    const expected = numberIn(stderr, /evict (\d+) pods at once/);
    assert.match(stderr, /1 of them belongs to a DaemonSet/);
    assert.match(stderr, /1 of them has already ended/);
    const dry = await cli(cluster(), ['add', 'strict', 'a', '--dry-run']);
    assert.deepEqual([dry.code, numberIn(dry.stderr, /evict (\d+) pods at once/)], [0, expected]);
    assert.deepEqual(taintsOf(await testEnv.node('a')), []);

    const before = await uids('a');
    const other = await uids('b');
    const done = await cli(cluster(), ['add', 'strict', 'a', '--yes']);
    assert.deepEqual([done.code, done.stdout], [0, 'node/a added to pool strict\n']);
    assert.equal(numberIn(done.stderr, /evict (\d+) pods at once/), expected);
    assert.equal(await evicted(before, 'a'), expected);
    assert.deepEqual(await uids('b'), other);

    // There is no terminal, so it does not ask.
    assert.equal(await ok(['add', 'strict', 'c']), 'node/c added to pool strict\n');
  });

  test('reconcile, diff, edit and create warn about evictions, and require --yes', { timeout: TEST_MS }, async t => {
    await testEnv.nodes({ name: 'a', labels: { ...role('p'), ...role('q'), work: 'yes' } });
    await testEnv.pool('p', { labels: { tier: 'x' } });
    await testEnv.reconcile();
    await workload(t, 'a');
    const sentence = /^(error: )?NoExecute taints evict 6 pods at once, and 1 pod after/;

    await refused(['edit', 'p', '--taint', 'draining=now:NoExecute'], 1, sentence);
    const first = ['create', 'q', '--taint', 'x:NoExecute'];
    // Pool p owns the node: the new pool would not get it.
    const { code, stderr } = await cli(cluster(), [...first, '--dry-run=server']);
    assert.deepEqual(
      [code, stderr],
      [
        0,
        'warning: pool q will not get nodes that match other pools: p (1 node); next: change the node selector of one of the pools\n',
      ],
    );
    const edited = await cli(cluster(), ['edit', 'p', '--taint', 'draining=now:NoExecute', '--yes']);
    assert.deepEqual([edited.code, edited.stdout], [0, 'nodepool.nodes.lailin.xyz/p edited\n']);
    await ok(['edit', 'p', '--label', 'tier=y']);

    const diff = await cli(cluster(), ['diff']);
    assert.deepEqual([diff.code, sentence.test(diff.stderr)], [1, true]);
    await refused(['reconcile'], 1, sentence);
    const dry = await cli(cluster(), ['reconcile', '--dry-run=server']);
    assert.deepEqual([dry.code, sentence.test(dry.stderr)], [0, true]);
    const before = await uids('a');
    const done = await cli(cluster(), ['reconcile', '--yes']);
    assert.deepEqual([done.code, sentence.test(done.stderr)], [0, true]);
    assert.equal(await evicted(before, 'a'), 6);
    assert.equal(await ok(['reconcile']).then(text => text.split('  ')[1]), 'Ready');
  });

  test('create --nodes --reconcile asks before it creates the pool', { timeout: TEST_MS }, async t => {
    // Another node and pod than those of the test before, whose eviction may still be in progress.
    await testEnv.nodes({ name: 'c' });
    t.after(() => api().expect('DELETE', PODS));
    await pod('lone', 'c');
    const args = ['create', 'fresh', '--taint', 'x:NoExecute', '--nodes', 'c', '--reconcile'];
    await refused(args, 1, /^error: NoExecute taints evict 1 pod at once from 1 node \(c\): default\/lone; /);
    assert.equal(await testEnv.getPool('fresh'), undefined);
    assert.equal((await cli(cluster(), [...args, '--yes'])).code, 0);
    await eventually('it goes', async () => (await pods()).length === 0);
  });

  test('asks on a terminal', { timeout: TEST_MS, skip: NO_TERMINAL ?? false }, async t => {
    await testEnv.nodes({ name: 'a' });
    await testEnv.pool('strict', { taints: [DRAINING] });
    t.after(() => api().expect('DELETE', PODS));
    await pod('bare', 'a');
    const no = await inTerminal(cluster(), ['add', 'strict', 'a'], 'n\n');
    const [, asked = ''] = /(Add 1 node \(a\) to pool strict [^?]*\? \[y\/N\])/.exec(no.shown) ?? assert.fail(no.shown);
    assert.match(
      asked.replaceAll(/\s+/g, ' '),
      /in context \S+: NoExecute taints .* \(a\): default\/bare; taints ignore .*; 1 of them has no/,
    );
    assert.ok(no.shown.split('\n').length <= 10, no.shown);
    assert.equal(no.shown.match(/default\/bare/g)?.length, 1, no.shown);
    assert.deepEqual([no.code, taintsOf(await testEnv.node('a'))], [1, []]);
    const yes = await inTerminal(cluster(), ['add', 'strict', 'a'], 'y\n');
    assert.deepEqual([yes.code, taintsOf(await testEnv.node('a'))], [0, ['draining=now:NoExecute']]);
  });
});
