/** What `top` and `drain` ask of a cluster of 300 nodes, by the server's audit log. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAudit } from '../cluster/audit.ts';
import { cli } from '../cluster/harness.ts';
import { poolsWithPods } from './draining.ts';
import { role, useWorld } from './world.ts';

const world = useWorld({ audit: true });
const pods = poolsWithPods(world);
const { cluster } = world;

const NODES = Array.from({ length: 300 }, (_, at) => `n${at}`);
const FEW = NODES.slice(0, 4);
const ALL_PODS = 'pods?fieldSelector=spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed';
const podsOn = (node: string) =>
  `pods?fieldSelector=spec.nodeName=${node},status.phase!=Succeeded,status.phase!=Failed`;

/** The lists that the command asked for, as `resource?query`, sorted. */
async function listsOf(...args: string[]): Promise<{ lists: string[]; stdout: string }> {
  const before = (await readAudit(cluster())).length;
  const { code, stdout, stderr } = await cli(cluster(), args);
  assert.equal(code, 0, stderr);
  const lists = (await readAudit(cluster()))
    .slice(before)
    .filter(({ verb, userAgent }) => verb === 'list' && userAgent.startsWith('kubectl-nodepool/'))
    .map(({ uri }) =>
      decodeURIComponent(uri)
        .replace(/^.*\/(?=\w+(\?|$))/, '')
        .replace(/[?&]limit=500/, ''),
    );
  return { lists: lists.sort(), stdout };
}

/** Four nodes of pool few, and the others of pool many; each pool has pods on its first nodes. */
async function pools(): Promise<void> {
  await world.nodes(...NODES.map((name, at) => ({ name, labels: role(at < FEW.length ? 'few' : 'many') })));
  await world.pool('few', {});
  await world.pool('many', {});
  for (const at of [0, 1, 2, 50, 51]) await pods.pod({ name: `p${at}`, node: `n${at}` });
}

test('300 nodes: every list once, and pods of the nodes that are meant alone', { timeout: 300_000 }, async () => {
  await pools();
  // The metrics API's nodes are not there, and asked for once.
  const base = ['nodepools', 'nodes', 'nodes'];

  const few = await listsOf('top', 'few', '-o', 'json');
  assert.deepEqual(few.lists, [...base, ...FEW.map(podsOn)]);
  const [pool] = JSON.parse(few.stdout).pools;
  assert.equal(pool.nodes ?? pool.nodeCount, FEW.length);
  assert.deepEqual((await listsOf('top', 'few', '--nodes')).lists, [...base, ...FEW.map(podsOn)]);
  assert.deepEqual((await listsOf('top', 'few', '--no-pods')).lists, ['nodepools', 'nodes']);
  assert.deepEqual((await listsOf('top', 'many')).lists, [...base, ALL_PODS], 'of most nodes: one list');
  assert.deepEqual((await listsOf('top')).lists, [...base, ALL_PODS]);

  const drained = (await listsOf('drain', 'few', '--yes', '--grace-period=0')).lists;
  assert.deepEqual(
    drained.filter(list => !list.startsWith('pods')),
    ['nodepools', 'nodes'],
  );
  const asked = drained.filter(list => list.startsWith('pods'));
  assert.deepEqual(
    [...new Set(asked)],
    FEW.map(node => `pods?fieldSelector=spec.nodeName=${node}`),
  );
  // For the plan, once it is closed, and to see its pod gone; a node that was empty has no pod to see gone.
  const counts = FEW.map(node => asked.filter(list => list.endsWith(`=${node}`)).length);
  assert.deepEqual(counts, [3, 3, 3, 2]);

  const again = (await listsOf('drain', 'few', '--yes', '--grace-period=0')).lists;
  assert.deepEqual(again, ['nodepools', 'nodes', ...FEW.map(node => `pods?fieldSelector=spec.nodeName=${node}`)]);
});
