import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PoolEventRecord } from '../../../src/kube/resources/events.ts';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import type { Node, NodePool } from '../../../src/nodepool/types.ts';
import { createLiveView } from '../../../src/view/view.ts';
import { FakeClock, flushPromises } from '../controller/fake-clock.ts';
import {
  added,
  BROKEN,
  bookmark,
  deleted,
  ENDED,
  FakeSource,
  initialEnd,
  modified,
  refused,
} from '../controller/fake-source.ts';
import { node, pool } from './fixture.ts';

/** Events carry only names; the transforms here build the objects for the dashboard. */
function start() {
  const clock = new FakeClock();
  const sources = { pools: new FakeSource(), nodes: new FakeSource(), events: new FakeSource() };
  const nameOf = (raw: object) => (raw as { metadata: { name: string } }).metadata.name;
  const versionOf = (raw: object) => (raw as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
  let news = 0;
  const live = createLiveView({
    cluster: {
      pools: { watch: () => ({ source: sources.pools, transform: (raw): NodePool => pool(nameOf(raw), 200) }) },
      nodes: {
        list: async () => [],
        serverTime: () => new Date(),
        watch: () => ({
          source: sources.nodes,
          transform: (raw): Node =>
            node(nameOf(raw), {
              uid: nameOf(raw),
              resourceVersion: versionOf(raw),
              labels: { 'node-role.kubernetes.io/p': '' },
            }),
        }),
      },
    },
    events: {
      watch: () => ({
        source: sources.events,
        transform: raw => (nameOf(raw) === 'foreign' ? undefined : ({ pool: nameOf(raw) } as PoolEventRecord)),
      }),
    },
    clock,
    now: clock.wall,
    random: () => 0,
    log: () => {},
    onChange: () => {
      news += 1;
    },
  });
  const ready = live.start();
  ready.catch(() => {});
  return { clock, ...sources, live, ready, news: () => news };
}

async function started() {
  const fixture = start();
  await flushPromises();
  fixture.pools.watches[0]?.send(added('p', 1), initialEnd(2));
  fixture.nodes.watches[0]?.send(added('a', 3), initialEnd(4));
  await fixture.ready;
  await flushPromises();
  return fixture;
}

test('starts when pools and nodes are listed, even before events arrive', async () => {
  const { live, events, news } = await started();
  assert.deepEqual(
    live.clusterState.members('p').map(({ name }) => name),
    ['a'],
  );
  assert.deepEqual([...live.events()], []);
  const before = [news(), live.version()];
  events.watches[0]?.send(added('p', 1), added('foreign', 2), initialEnd(3));
  await flushPromises();
  assert.deepEqual(
    [...live.events()].map(([key]) => key),
    ['p'],
  );
  assert.ok(news() > (before[0] ?? 0) && live.version() > (before[1] ?? 0));
});

test('applies changes to the cluster state and reports them, but no heartbeats', async () => {
  const { live, nodes, news } = await started();
  const before = news();
  nodes.watches[1]?.send(modified('a', 5));
  assert.deepEqual([news() - before, live.clusterState.node('a')?.resourceVersion], [0, '5']);
  nodes.watches[1]?.send(added('b', 6), deleted('a', 7));
  assert.deepEqual(
    [...live.clusterState.nodes()].map(({ name }) => name),
    ['b'],
  );
  assert.deepEqual(
    live.clusterState.members('p').map(({ name }) => name),
    ['b'],
  );
  assert.equal(news() - before, 2);
});

test('shows a broken watch as an outage until the next watch is accepted', async () => {
  const { live, nodes, clock, news } = await started();
  await clock.advance(5_000);
  nodes.watches[1]?.send(modified('a', 5));
  const since = clock.wall().getTime();
  await clock.advance(5_000);
  const before = news();
  nodes.watches[1]?.end(BROKEN);
  await flushPromises();
  assert.deepEqual(live.outages(), [{ resource: 'nodes', message: 'the line is cut', since }]);
  assert.equal(news(), before + 1);
  await clock.advance(2_000);
  assert.equal(live.outages().length, 1);
  nodes.watches[2]?.options.onOpen?.();
  assert.deepEqual(live.outages(), []);
});

test('returns to the restored state of etcd, and follows it', async () => {
  const { live, nodes, clock } = await started();
  const versions = () =>
    [...live.clusterState.nodes()].map(({ name, resourceVersion }) => `${name}@${resourceVersion}`).sort();
  nodes.watches[1]?.send(deleted('a', 50), added('lost', 60), bookmark(100));
  nodes.newest = '40';
  nodes.watches[1]?.end(BROKEN);
  await clock.advance(800);
  nodes.watches[2]?.send(added('a', 3), added('b', 20), initialEnd(41));
  await flushPromises();
  assert.deepEqual(versions(), ['a@3', 'b@20'], 'the one that was seen to be deleted, too');
  nodes.watches[3]?.send(modified('a', 42));
  assert.deepEqual(versions(), ['a@42', 'b@20']);
  assert.equal(live.clusterState.members('p').length, 2);
});

test('does not treat a regular end or an expired resourceVersion as an outage', async () => {
  const { live, nodes, pools } = await started();
  nodes.watches[1]?.send(modified('a', 5));
  nodes.watches[1]?.end(ENDED);
  pools.watches[1]?.end(refused(410));
  await flushPromises();
  assert.deepEqual(live.outages(), []);
});

test('fails without permission for nodes, and starts without permission for events', async () => {
  const refusing = start();
  await flushPromises();
  refusing.nodes.watches[0]?.end(refused(403));
  await assert.rejects(refusing.ready, (error: unknown) => {
    assert.ok(error instanceof NodepoolError);
    assert.equal(error.message, 'cannot watch nodes: no');
    assert.equal(error.next, 'ask for a role with verbs list and watch on nodes');
    return true;
  });
  const { live, events } = await started();
  events.watches[0]?.end(refused(403));
  await flushPromises();
  assert.deepEqual(
    live.outages().map(({ resource }) => resource),
    ['events'],
  );
});
