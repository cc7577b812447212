import assert from 'node:assert/strict';
import { test } from 'node:test';
import { followNodes } from '../../../../src/commands/nodes/watch.ts';
import type { PoolNode } from '../../../../src/commands/shared/pools/nodes.ts';
import { ownValue } from '../../../../src/nodepool/json.ts';
import type { Node, NodePool } from '../../../../src/nodepool/types.ts';
import { FakeClock, flushPromises } from '../../controller/fake-clock.ts';
import {
  added,
  BROKEN,
  bookmark,
  deleted,
  FakeSource,
  initialEnd,
  modified,
  refused,
  thing,
} from '../../controller/fake-source.ts';
import { node, pool, role } from '../../view/fixture.ts';

const metadataOf = (raw: object) => (raw as ReturnType<typeof thing>).metadata;

/** Of the server: a minute after the nodes registered. */
const NOW = new Date('2026-11-18T12:01:00Z');

/** A label of each node has its version. A pool's generation is its version in hundreds. */
async function begun(startup: Pick<NodePool['spec'], 'startupTaints'> = {}) {
  const clock = new FakeClock();
  const [pools, nodes] = [new FakeSource(), new FakeSource()];
  const reports: string[] = [];
  let reads = 0;
  const text = ({ node: { name, labels }, pool: owner, changes }: PoolNode) =>
    [`${name}@${ownValue(labels, 'version')}`, owner, ...changes.map(({ key, to }) => `${key}=${to}`)].join(' ');
  const toNode = (raw: object): Node => {
    const { name, uid, resourceVersion } = metadataOf(raw);
    return {
      ...node(name, { uid, resourceVersion, labels: { ...role('p'), version: resourceVersion } }),
      get ready() {
        reads += 1;
        return true;
      },
    };
  };
  const toPool = (raw: object): NodePool => {
    const { name, uid, resourceVersion } = metadataOf(raw);
    const generation = Math.floor(Number(resourceVersion) / 100);
    const spec = generation === 0 ? {} : { labels: { generation: `${generation}` } };
    const metadata = { name, uid, resourceVersion, generation };
    return pool(name, 200, { metadata, spec: { ...spec, ...startup } });
  };
  const ended = followNodes(
    {
      pools: [],
      unassigned: false,
      selector: undefined,
      onStart: found => void reports.push(`start ${found.map(text)}`),
      onChanged: found => void reports.push(text(found)),
      signal: new AbortController().signal,
    },
    {
      cluster: {
        pools: { watch: () => ({ source: pools, transform: toPool }) },
        nodes: { list: async () => [], serverTime: () => NOW, watch: () => ({ source: nodes, transform: toNode }) },
      },
      clock,
      random: () => 0,
      log: () => {},
    },
  );
  await flushPromises();
  return { clock, pools, nodes, reports, reads: () => reads, ended };
}

/** Follows the pool p and its node a. */
async function started(startup = {}) {
  const following = await begun(startup);
  const { pools, nodes } = following;
  pools.watches[0]?.send(added('p', 1), initialEnd(2));
  nodes.watches[0]?.send(added('a', 3), initialEnd(4));
  await flushPromises();
  return following;
}

test('without the permission to watch pools, lists the nodes and ends with an error', async () => {
  const { pools, nodes, reports, ended } = await begun();
  pools.watches[0]?.end(refused(403));
  await flushPromises();
  pools.lists[0]?.answer({ kind: 'page', items: [thing('p', 1)], resourceVersion: '2', continue: undefined });
  await flushPromises();
  pools.watches[1]?.end(refused(403));
  await flushPromises();
  assert.deepEqual(reports, []);
  nodes.watches[0]?.send(added('a', 3), initialEnd(4));
  await assert.rejects(ended, { message: 'cannot watch nodepools: no' });
  assert.deepEqual(reports, ['start a@3 p']);
});

test('prints what a restore of etcd changed, and follows it', async () => {
  const { clock, nodes, reports } = await started();
  nodes.watches[1]?.send(added('b', 20), deleted('b', 30), modified('a', 50), added('lost', 60), bookmark(100));
  assert.deepEqual(reports.splice(0), ['start a@3 p', 'b@20 p', 'b@30 p', 'a@50 p', 'lost@60 p']);
  nodes.newest = '40';
  nodes.watches[1]?.end(BROKEN);
  await clock.advance(800);
  nodes.watches[2]?.send(added('a', 3), added('b', 20), initialEnd(41));
  await flushPromises();
  assert.deepEqual(reports.splice(0), ['lost@60 p', 'a@3 p', 'b@20 p'], 'an older one, and a deleted one, too');
  nodes.watches[3]?.send(modified('b', 42), deleted('a', 43));
  assert.deepEqual(reports, ['b@42 p', 'a@43 p']);
});

test('prints the nodes of a restored pool', async () => {
  const { clock, pools, reports } = await started();
  pools.watches[1]?.send(deleted('p', 50), bookmark(100));
  assert.deepEqual(reports.splice(0), ['start a@3 p', 'a@3 ']);
  pools.newest = '40';
  pools.watches[1]?.end(BROKEN);
  await clock.advance(800);
  pools.watches[2]?.send(added('p', 1), initialEnd(41));
  await flushPromises();
  assert.deepEqual(reports, ['a@3 p']);
});

test('plans the nodes again after a change of a pool, but not of its status', async () => {
  const { pools, reports, reads } = await started();
  const before = reads();
  pools.watches[1]?.send(modified('p', 50), modified('p', 60));
  assert.equal(reads(), before);
  pools.watches[1]?.send(modified('p', 100));
  assert.ok(reads() > before);
  assert.deepEqual(reports, ['start a@3 p', 'a@3 p generation=1']);
  pools.watches[1]?.send(modified('p', 101), deleted('p', 102));
  assert.deepEqual(reports.slice(2), ['a@3 ']);
});

test('plans startup taints with the clock of the server, even after a restore of etcd', async () => {
  const { clock, nodes, reports } = await started({ startupTaints: [{ key: 'agent', effect: 'NoSchedule' }] });
  assert.deepEqual(reports.splice(0), ['start a@3 p agent=']);
  nodes.watches[1]?.send(modified('a', 50), bookmark(100));
  nodes.newest = '40';
  nodes.watches[1]?.end(BROKEN);
  await clock.advance(800);
  nodes.watches[2]?.send(added('a', 3), initialEnd(41));
  await flushPromises();
  assert.deepEqual(reports, ['a@50 p agent=', 'a@3 p agent=']);
});
