/** The requests of `adopt`, `top`, `drain` and `nodes`, by the server's audit log. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseLabelSelector } from '../../src/nodepool/membership/label-selector.ts';
import type { NodePool } from '../../src/nodepool/types.ts';
import { readAudit } from '../cluster/audit.ts';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { poolsWithPods } from './draining.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv({ audit: true });
const pods = poolsWithPods(testEnv);
const { cluster } = testEnv;

const NODES = Array.from({ length: 300 }, (_, at) => `n${at}`);
const FEW = NODES.slice(0, 4);
const ALL_PODS = 'pods?fieldSelector=spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed';
const podsOn = (node: string) =>
  `pods?fieldSelector=spec.nodeName=${node},status.phase!=Succeeded,status.phase!=Failed&resourceVersion=0`;

/** The lists and reads that the command asked for, as `resource?query` and `nodes/name`, sorted. */
async function requestsOf(...args: string[]): Promise<{ lists: string[]; gets: string[]; stdout: string }> {
  const before = (await readAudit(cluster())).length;
  const { code, stdout, stderr } = await cliHere(cluster(), args);
  assert.equal(code, 0, stderr);
  const asked = (await readAudit(cluster()))
    .slice(before)
    .filter(({ userAgent }) => userAgent.startsWith('kubectl-nodepool/'))
    .map(({ verb, uri }) => ({ verb, uri: decodeURIComponent(uri) }));
  const lists = asked
    .filter(({ verb }) => verb === 'list')
    .map(({ uri }) => uri.replace(/^.*\/(?=\w+(\?|$))/, '').replace(/[?&]limit=500/, ''));
  const gets = asked.filter(({ verb }) => verb === 'get').map(({ uri }) => uri.replace('/api/v1/', ''));
  return { lists: lists.sort(), gets: gets.sort(), stdout };
}

/** Four nodes of pool few, and the others of pool many; each pool has pods on its first nodes. */
async function pools(): Promise<void> {
  await testEnv.nodes(...NODES.map((name, at) => ({ name, labels: role(at < FEW.length ? 'few' : 'many') })));
  await testEnv.pool('few', {}, { metadata: { labels: { size: 'small' } } });
  await testEnv.pool('many', {});
  for (const at of [0, 1, 2, 50, 51]) await pods.pod({ name: `p${at}`, node: `n${at}` });
}

test('sends each list request once, and lists only pods of the affected nodes', {
  timeout: 300_000,
}, async () => {
  await pools();
  // The metrics API is not served, and requested once.
  const base = ['nodepools', 'nodes', 'nodes'];

  const few = await requestsOf('top', 'few', '-o', 'json');
  assert.deepEqual(few.lists, [...base, ...FEW.map(podsOn)]);
  const [pool] = JSON.parse(few.stdout).pools;
  assert.equal(pool.nodes ?? pool.nodeCount, FEW.length);
  assert.deepEqual((await requestsOf('top', 'few', '--nodes')).lists, [...base, ...FEW.map(podsOn)]);
  assert.deepEqual((await requestsOf('top', 'few', '--no-pods')).lists, ['nodepools', 'nodes']);
  assert.deepEqual((await requestsOf('top', 'many')).lists, [...base, ALL_PODS], 'of most nodes: one list');
  assert.deepEqual((await requestsOf('top')).lists, [...base, ALL_PODS]);

  // The one list of all pools shows which of them have the labels.
  assert.deepEqual((await requestsOf('top', '-l', 'size in (small)')).lists, [...base, ...FEW.map(podsOn)]);

  const drained = await requestsOf('drain', 'few', '--yes', '--grace-period=0');
  assert.deepEqual(
    drained.lists.filter(list => !list.startsWith('pods')),
    // Twice: the number of cordoned nodes is written into the status at the end.
    ['nodepools', 'nodepools', 'nodes', 'nodes', 'poddisruptionbudgets'],
  );
  const asked = drained.lists.filter(list => list.startsWith('pods'));
  assert.deepEqual(
    [...new Set(asked)],
    FEW.map(node => `pods?fieldSelector=spec.nodeName=${node}`),
  );
  // For the plan, after the cordon, and to see its pods deleted.
  const counts = FEW.map(node => asked.filter(list => list.endsWith(`=${node}`)).length);
  assert.deepEqual(counts, [3, 3, 3, 2]);
  // Each node when its turn comes, and again when its pods are gone: another node may have its name.
  assert.deepEqual(
    drained.gets.filter(get => get.startsWith('nodes/')),
    FEW.flatMap((node, at) => (counts[at] === 3 ? [`nodes/${node}`, `nodes/${node}`] : [`nodes/${node}`])),
  );

  const again = await requestsOf('drain', 'few', '--yes', '--grace-period=0');
  assert.deepEqual(
    again.gets.filter(get => get.startsWith('nodes/')),
    [],
  );
  assert.deepEqual(again.lists, ['nodepools', 'nodes', ...FEW.map(node => `pods?fieldSelector=spec.nodeName=${node}`)]);
});

test('lists pods node by node when few nodes are affected', async () => {
  await testEnv.nodes(
    ...['n0', 'n1', 'n2', 'n3', 'n4'].map((name, at) => ({ name, labels: at < 3 ? role('few') : {} })),
  );
  await testEnv.pool('few', {});
  const base = ['nodepools', 'nodes', 'nodes'];
  assert.deepEqual((await requestsOf('top', 'few')).lists, [...base, ...NODES.slice(0, 3).map(podsOn)]);
  await testEnv.patchNode('n3', { metadata: { labels: role('few') } });
  await testEnv.patchNode('n4', { metadata: { labels: role('few') } });
  assert.deepEqual((await requestsOf('top', 'few')).lists, [...base, ALL_PODS], 'all nodes are meant: one list');
});

test('nodes reads single nodes only to find who set a differing value', async () => {
  await testEnv.nodes(...['n0', 'n1', 'n2'].map(name => ({ name, labels: role('few') })));
  await testEnv.pool('few', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  for (const output of [[], ['-o', 'wide'], ['-o', 'json']]) {
    const { lists, gets } = await requestsOf('nodes', ...output);
    assert.deepEqual([lists, gets], [['nodepools', 'nodes'], []]);
  }
  await testEnv.patchNode('n1', { metadata: { labels: { tier: 'mine' } } });
  const { lists, gets } = await requestsOf('nodes');
  assert.deepEqual([lists, gets], [['nodepools', 'nodes'], ['nodes/n1']]);
  assert.deepEqual((await requestsOf('nodes', '-o', 'name')).gets, []);
});

test('history and report read each list once, and single nodes only for foreign changes', async () => {
  await testEnv.nodes(...['n0', 'n1', 'n2'].map(name => ({ name, labels: role('few') })));
  await testEnv.pool('few', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  const about = (kind: string, name?: string) =>
    `events?fieldSelector=regarding.kind=${kind}${name === undefined ? '' : `,regarding.name=${name}`}`;
  const revisions = 'controllerrevisions?labelSelector=nodes.lailin.xyz/pool=few';
  const ended = 'events?fieldSelector=regarding.kind=Node,reason=MaintenanceEnded';
  const pool = [revisions, about('NodePool', 'few'), ended, 'nodepools', 'nodes'];
  const quiet = await requestsOf('history', 'few');
  assert.deepEqual([quiet.lists, quiet.gets], [pool.toSorted(), []]);
  const report = await requestsOf('report');
  const base = ['nodepools', 'nodes', 'nodes', about('NodePool'), ALL_PODS];
  assert.deepEqual([report.lists, report.gets], [base.toSorted(), ['/version']]);
  await testEnv.patchNode('n1', { metadata: { labels: { tier: 'mine' } } });
  await testEnv.patchNode('n2', { spec: { unschedulable: true } });
  const drifted = await requestsOf('history', 'few');
  assert.deepEqual([drifted.lists, drifted.gets], [pool.toSorted(), ['nodes/n1', 'nodes/n2']]);
  assert.deepEqual((await requestsOf('report')).gets, ['/version', 'nodes/n1']);
  const node = await requestsOf('history', 'n1');
  const lists = [about('Node', 'n1'), about('NodePool'), 'nodepools'];
  assert.deepEqual([node.lists, node.gets], [lists.toSorted(), ['nodes/n1']]);
});

test('parses a label selector as the server does', async () => {
  const labels = {
    a: { tier: 'gold', n: '5' },
    b: { tier: 'silver', n: 'x' },
    c: { tier: '' },
    d: { in: 'x', n: '10' },
  };
  for (const [name, each] of Object.entries(labels)) await testEnv.pool(name, {}, { metadata: { labels: each } });
  const selectors = [
    ...['', ' ', 'tier', '!tier', '! tier', 'tier=gold', 'tier==gold', 'tier = gold', 'tier!=gold', 'tier=', 'tier!='],
    ...['tier in (gold)', 'tier in (gold,silver)', 'tier in ( gold , silver )', 'tier notin (gold)', 'tier in ()'],
    ...['tier in (,gold)', 'tier in (gold,)', 'tier in (gold,,silver)', 'tier in(gold)', 'tier\tin\n(gold)'],
    ...['n>4', 'n > 4', 'n<6', 'n<6,tier', 'n>x', 'n>', 'n>-1', 'n>99999999999999999999', 'n>9223372036854775807'],
    ...['in', 'in=x', 'in in (x)', '!in', 'tier=in', 'tier in (in)', 'notin', 'tier=notin', 'constructor', '__proto__'],
    ...['tier=gold,n=5', 'tier=gold,', ',tier', ',', 'tier,,n', 'tier=gold n=5', 'a b', 'tier in', 'tier in gold'],
    ...['tier in (gold', 'tier (gold)', 'tier=(gold)', '!!tier', '!', '!tier=gold', '=', '=gold', 'tier===gold'],
    ...['tier=!gold', 'tier<=5', 'tier=>5', 'tier=a b', 'tier=-a', 'a/b/c', 'example.com/tier', 'x.y/=a', '/a', 'ä'],
    ...[
      'tier=ä',
      `tier=${'x'.repeat(64)}`,
      `${'x'.repeat(64)}`,
      '(',
      ')',
      'tier)',
      'tier=gold)',
      'tier, n',
      'x in (a b)',
    ],
  ];
  for (const selector of selectors) {
    const path = `/apis/nodes.lailin.xyz/v1/nodepools?labelSelector=${encodeURIComponent(selector)}`;
    const { status, body } = await raw(cluster()).request('GET', path);
    const served = (body as { items?: NodePool[] }).items?.map(({ metadata }) => metadata.name).join();
    const isRead = (): string => {
      const matches = parseLabelSelector(selector);
      return Object.entries(labels)
        .flatMap(([name, each]) => (matches(each) ? [name] : []))
        .join();
    };
    if (status === 200) assert.equal(isRead(), served, JSON.stringify(selector));
    else assert.throws(isRead, { kind: 'input' }, `${JSON.stringify(selector)}: ${JSON.stringify(body)}`);
  }
});

test('adopt lists the nodes once', async () => {
  await pools();
  const { lists } = await requestsOf('adopt');
  assert.deepEqual(
    lists.filter(list => list.startsWith('nodes')),
    ['nodes'],
  );
});
