import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type OverlapReader, selectionWarnings } from '../../../../src/commands/create/overlaps.ts';
import type { RawPool } from '../../../../src/kube/cluster.ts';
import { ForbiddenError, type NodepoolError } from '../../../../src/nodepool/errors.ts';
import { parseLabelSelector } from '../../../../src/nodepool/membership/label-selector.ts';
import type { NodePool } from '../../../../src/nodepool/types.ts';
import { aPool } from '../../nodepool/fixtures.ts';

const zone = (name: string, value = 'z') => aPool({ nodeSelector: { zone: value } }, { name });
const web = aPool({}, { name: 'web' });
const WEB = { 'node-role.kubernetes.io/web': '', zone: 'z' };

interface Cluster {
  pools?: NodePool[] | NodepoolError;
  nodes?: Record<string, string>[] | NodepoolError;
}

async function warned(
  created: NodePool[],
  { pools = [web], nodes = [] }: Cluster,
  known: Parameters<typeof selectionWarnings>[2] = {},
) {
  const asked: string[] = [];
  const answer = async <T>(what: string, value: T | NodepoolError): Promise<T> => {
    asked.push(what);
    if (value instanceof Error) throw value;
    return value;
  };
  const reader = {
    cluster: { pools: { listCoerced: () => answer('pools', pools) } },
    nodeLabels: async (selector?: string) => {
      const labels = await answer(selector ?? 'all', nodes);
      const isAsked = selector === undefined ? () => true : parseLabelSelector(selector);
      return labels.map((labels, at) => ({ name: `n${at}`, labels })).filter(({ labels }) => isAsked(labels));
    },
  } as OverlapReader;
  const warnings = await selectionWarnings(created as RawPool[], reader, known);
  return { texts: warnings.map(warning => (typeof warning === 'string' ? warning : warning.message)), asked };
}

const text = (pool: string, others: string) => `pool ${pool} will not get nodes that match other pools: ${others}`;

test('counts nodes that a new pool and other pools select', async () => {
  const four = Array.from({ length: 4 }, () => WEB);
  assert.deepEqual(await warned([zone('new')], { nodes: [...four, { zone: 'z' }] }), {
    texts: [text('new', 'web (4 nodes)')],
    asked: ['pools', 'zone=z'],
  });
  assert.deepEqual((await warned([zone('new')], { nodes: [{ zone: 'z' }] })).texts, []);
  const others = ['a', 'b', 'c', 'd'].map(name => zone(name));
  assert.deepEqual((await warned([zone('new')], { pools: others, nodes: [{ zone: 'z' }] })).texts, [
    text('new', 'a (1 node), b (1 node), c (1 node) and 1 more'),
  ]);
});

test('compares the pools of a file with each other, and lists the nodes once', async () => {
  const { texts, asked } = await warned([zone('one'), zone('two'), web], { nodes: [WEB] });
  assert.deepEqual(texts, [text('one', 'two (1 node), web (1 node)'), text('two', 'web (1 node)')]);
  assert.deepEqual(asked, ['pools', 'all']);
});

test('skips pools that cannot select the same nodes', async () => {
  const nodes = [{ zone: 'z' }];
  const dying = { ...zone('dying'), metadata: { name: 'dying', deletionTimestamp: '2026-01-01T00:00:00Z' } };
  const unread = { ...zone('unread'), unreadable: [{ field: 'spec.nodeSelector', message: 'm' }] };
  for (const pools of [[], [zone('new')], [zone('other', 'y')], [dying], [unread]]) {
    assert.deepEqual(await warned([zone('new')], { pools, nodes }), { texts: [], asked: ['pools', 'zone=z'] });
  }
});

test('prints nothing when pools or nodes cannot be read', async () => {
  const forbidden = new ForbiddenError('no', []);
  assert.deepEqual((await warned([zone('new')], { pools: forbidden })).texts, []);
  assert.deepEqual((await warned([zone('new')], { nodes: forbidden })).texts, []);
});

test('counts nodes for expressions that need no label or match the control plane', async () => {
  const meeting = (key: string, operator: string, ...values: string[]) =>
    aPool({ matchExpressions: [{ key, operator, values }] }, { name: 'new' });
  const nodes = [{ zone: 'a' }, { zone: 'b' }, { zone: 'a', 'node-role.kubernetes.io/control-plane': '' }];
  const absent = await warned([meeting('spot', 'DoesNotExist')], { pools: [], nodes });
  assert.deepEqual(absent, {
    texts: [
      'pool new selects 3 nodes, 1 of them in the control plane: n2; its selector requires no label, so new nodes join automatically',
    ],
    asked: ['pools', '!spot'],
  });
  const zones = await warned([meeting('zone', 'In', 'a')], { pools: [], nodes }, { isReconciled: true });
  assert.deepEqual(zones, {
    texts: ['pool new selects 2 nodes, 1 of them in the control plane: n2'],
    asked: ['zone in (a)'],
  });
  assert.deepEqual((await warned([meeting('zone', 'In', 'b')], { pools: [], nodes })).texts, []);
  assert.deepEqual((await warned([meeting('zone', 'In', 'b')], { pools: [zone('old', 'b')], nodes })).texts, [
    text('new', 'old (1 node)'),
  ]);
  assert.deepEqual(await warned([zone('plain')], { nodes }, { isReconciled: true }), { texts: [], asked: [] });
});

test('lists all nodes only if none matches, and no further nodes for named nodes', async () => {
  const nodes = [{ zone: 'y' }];
  const text = 'no node matches pool new (zone=z): 1 node has zone=y';
  assert.deepEqual(await warned([zone('new')], { nodes }), { texts: [text], asked: ['pools', 'zone=z', 'all'] });
  assert.deepEqual(await warned([zone('new')], { nodes: [] }), { texts: [], asked: ['pools', 'zone=z', 'all'] });
  assert.deepEqual(await warned([zone('new'), zone('same', 'y')], { nodes }), {
    texts: [text],
    asked: ['pools', 'all'],
  });
  assert.deepEqual((await warned([zone('new')], { pools: [], nodes }, { areNodesNamed: true })).asked, ['pools']);
});
