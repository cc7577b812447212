import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import type { Node, NodePool } from '../../../src/nodepool/types.ts';
import type { PoolEventRecord } from '../../../src/operations/ports.ts';
import { createLiveView, setUnschedulable } from '../../../src/operations/view.ts';
import type { NodePatch, NodeWrite } from '../../../src/reconciler/ports.ts';
import { FakeClock, settle } from '../controller/fake-clock.ts';
import { added, BROKEN, deleted, ENDED, FakeSource, initialEnd, modified, refused } from '../controller/fake-source.ts';
import { node, pool } from '../view/fixture.ts';

/** The objects of the sources have a name and no more; what the dashboard gets of them is made here. */
function start() {
  const clock = new FakeClock();
  const sources = { pools: new FakeSource(), nodes: new FakeSource(), events: new FakeSource() };
  const nameOf = (raw: object) => (raw as { metadata: { name: string } }).metadata.name;
  const versionOf = (raw: object) => (raw as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
  let news = 0;
  const live = createLiveView({
    watch: {
      pools: { source: sources.pools, transform: (raw): NodePool => pool(nameOf(raw), 200) },
      nodes: {
        source: sources.nodes,
        transform: (raw): Node =>
          node(nameOf(raw), {
            uid: nameOf(raw),
            resourceVersion: versionOf(raw),
            labels: { 'node-role.kubernetes.io/p': '' },
          }),
      },
    },
    follow: {
      events: () => ({
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
  const world = start();
  await settle();
  world.pools.watches[0]?.send(added('p', 1), initialEnd(2));
  world.nodes.watches[0]?.send(added('a', 3), initialEnd(4));
  await world.ready;
  await settle();
  return world;
}

test('it starts when pools and nodes are there; events may come later, and those of others never', async () => {
  const { live, events, news } = await started();
  assert.deepEqual(
    live.view.members('p').map(({ name }) => name),
    ['a'],
  );
  assert.deepEqual([...live.events()], []);
  const before = [news(), live.version()];
  events.watches[0]?.send(added('p', 1), added('foreign', 2), initialEnd(3));
  await settle();
  assert.deepEqual(
    [...live.events()].map(([key]) => key),
    ['p'],
  );
  assert.ok(news() > (before[0] ?? 0) && live.version() > (before[1] ?? 0));
});

test('what changes is in the view, and is news', async () => {
  const { live, nodes, news } = await started();
  const before = news();
  nodes.watches[1]?.send(added('b', 5), modified('a', 6), deleted('a', 7));
  assert.deepEqual(
    [...live.nodes()].map(({ name }) => name),
    ['b'],
  );
  assert.deepEqual(
    live.view.members('p').map(({ name }) => name),
    ['b'],
  );
  assert.equal(news() - before, 3);
});

test('a broken watch is an outage, with the time of the last sign of life, until the server agrees to the next', async () => {
  const { live, nodes, clock, news } = await started();
  await clock.advance(5_000);
  nodes.watches[1]?.send(modified('a', 5));
  const since = clock.wall().getTime();
  await clock.advance(5_000);
  const before = news();
  nodes.watches[1]?.end(BROKEN);
  await settle();
  assert.deepEqual(live.outages(), [{ resource: 'nodes', message: 'the line is cut', since }]);
  assert.equal(news(), before + 1);
  await clock.advance(2_000);
  assert.equal(live.outages().length, 1);
  nodes.watches[2]?.options.onOpen?.();
  assert.deepEqual(live.outages(), []);
});

test('a watch that ends as it should, and an expired version, are no outages', async () => {
  const { live, nodes, pools } = await started();
  nodes.watches[1]?.send(modified('a', 5));
  nodes.watches[1]?.end(ENDED);
  pools.watches[1]?.end(refused(410));
  await settle();
  assert.deepEqual(live.outages(), []);
});

test('without permission for nodes it does not start; without permission for events it does, and says so', async () => {
  const refusing = start();
  await settle();
  refusing.nodes.watches[0]?.end(refused(403));
  await assert.rejects(refusing.ready, (error: unknown) => {
    assert.ok(error instanceof NodepoolError);
    assert.equal(error.message, 'cannot follow nodes: no');
    assert.equal(error.next, 'ask for a role with verbs list and watch on nodes');
    return true;
  });
  const { live, events } = await started();
  events.watches[0]?.end(refused(403));
  await settle();
  assert.deepEqual(
    live.outages().map(({ resource }) => resource),
    ['events'],
  );
});

/** A server that answers the writes of a node as it is told, in order. */
function server(reads: (Node | undefined)[], writes: NodeWrite['kind'][]) {
  const sent: string[] = [];
  const after = (_ms: number, callback: () => void) => {
    queueMicrotask(callback);
    return () => {};
  };
  const deps = {
    cluster: {
      getNode: async () => (reads.length > 1 ? reads.shift() : reads[0]),
      async patchNode(_name: string, { resourceVersion, ...patch }: NodePatch): Promise<NodeWrite> {
        assert.deepEqual(Object.keys(patch), ['unschedulable']);
        sent.push(`${resourceVersion} ${patch.unschedulable}`);
        const kind = writes.shift() ?? 'conflict';
        return kind === 'written' ? { kind, node: node('n') } : { kind };
      },
    },
    clock: { now: () => 0, after },
    random: () => 0,
  };
  return { deps, sent };
}

const meant = { name: 'n', uid: 'uid-n', unschedulable: true };

test('cordon: guarded by what was read; read again after a conflict', async () => {
  const { deps, sent } = server(
    [node('n', { resourceVersion: '7' }), node('n', { resourceVersion: '9' })],
    ['conflict', 'written'],
  );
  assert.equal(await setUnschedulable(meant, deps), 'written');
  assert.deepEqual(sent, ['7 true', '9 true']);
});

test('cordon: no write for what is so already, for another node of that name, for none', async () => {
  const already = server([node('n', { unschedulable: true })], []);
  assert.equal(await setUnschedulable(meant, already.deps), 'unchanged');
  for (const read of [node('n', { uid: 'another' }), undefined]) {
    const { deps, sent } = server([read], []);
    await assert.rejects(setUnschedulable(meant, deps), /node n is gone/);
    assert.deepEqual(sent, []);
  }
  assert.deepEqual(already.sent, []);
  await assert.rejects(setUnschedulable(meant, server([node('n')], ['gone']).deps), /node n is gone/);
});

test('cordon: a node that changes all the time is an error, after a while', async () => {
  const { deps, sent } = server([node('n')], []);
  await assert.rejects(setUnschedulable(meant, deps), /node n keeps changing/);
  assert.equal(sent.length, 10);
});
