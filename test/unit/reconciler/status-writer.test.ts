/** The status of a pool, on a server where others write and delete too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import type { Observation } from '../../../src/nodepool/status.ts';
import type { NodePool, NodePoolStatus } from '../../../src/nodepool/types.ts';
import { ClusterState } from '../../../src/reconciler/cluster-state.ts';
import type { WriteFailure } from '../../../src/reconciler/failure.ts';
import type { NodeMove } from '../../../src/reconciler/node-move.ts';
import type { ClusterPort, PoolWrite } from '../../../src/reconciler/ports.ts';
import { writeStatus } from '../../../src/reconciler/status-writer.ts';
import { WritePace } from '../../../src/reconciler/write-pace.ts';
import { FakeClock } from '../controller/fake-clock.ts';
import { aPool } from '../nodepool/fixtures.ts';

const NOW = '2026-01-01T00:00:00Z';
const pool = aPool({}, { resourceVersion: '10' });
const MOVE: NodeMove = { node: 'a', from: undefined, to: 'worker', changes: [] };
const observed: Observation = { members: [], specErrors: [], conflicts: [], failures: [], podCount: undefined };
const recreatedError = { ...pool, metadata: { ...pool.metadata, uid: 'later', resourceVersion: '11' } };
const going = { ...pool, metadata: { ...pool.metadata, deletionTimestamp: NOW, resourceVersion: '11' } };

/** A server that has the pool; the test says what happens before a request. */
function begin(live = pool, known = pool) {
  const [requests, slept, state] = [[] as string[], [] as number[], new ClusterState([known], [], [])];
  const server = {
    live: live as NodePool | undefined,
    requests,
    before: (_request: string, _count: number): PoolWrite | undefined => undefined,
    /** Fields that the CRD does not have. */
    prune: (status: NodePoolStatus) => status,
    change(status: Partial<NodePoolStatus>, metadata: Partial<NodePool['metadata']> = {}): void {
      const before = server.live ?? assert.fail();
      const resourceVersion = String(Number(before.metadata.resourceVersion) + 1);
      server.live = {
        ...before,
        status: { status: 200, nodeCount: 0, ...before.status, ...status },
        metadata: { ...before.metadata, ...metadata, resourceVersion },
      };
    },
  };
  const cluster = {
    pools: {
      getCoerced: async () => {
        requests.push('get');
        server.before('get', requests.length);
        return server.live;
      },
      patchStatus: async (read: NodePool, status: NodePoolStatus): Promise<PoolWrite> => {
        requests.push('patch');
        const forced = server.before('patch', requests.length);
        if (forced !== undefined) return forced;
        const before = server.live;
        if (before === undefined || before.metadata.uid !== read.metadata.uid) return { kind: 'gone' };
        if (before.metadata.resourceVersion !== read.metadata.resourceVersion) return { kind: 'conflict' };
        const resourceVersion = String(Number(before.metadata.resourceVersion) + 1);
        const stored = { ...before, status: server.prune(status), metadata: { ...before.metadata, resourceVersion } };
        server.live = stored;
        return { kind: 'written', pool: stored };
      },
    },
  } as unknown as ClusterPort;
  const write = async (more: Partial<Observation> = {}, moves: NodeMove[] = [], isFollowed = false) => {
    const outcome = {
      status: undefined as NodePoolStatus | undefined,
      statusWritten: false,
      lacking: [] as string[],
      moves,
      failures: [] as WriteFailure[],
    };
    const result = await writeStatus(known, { ...observed, ...more }, outcome, {
      cluster,
      state,
      limit: work => work(),
      dryRun: false,
      pace: new WritePace(new FakeClock()),
      now: () => new Date(NOW),
      sleep: async ms => void slept.push(ms),
      ...(isFollowed ? { isFollowed } : {}),
    });
    return { ...outcome, isWritten: result === 'written' };
  };
  return { server, state, slept, write };
}

/** A server whose pool has the status already. */
async function written() {
  const { server, write } = begin();
  await write();
  const live = server.live ?? assert.fail();
  return { live, ...begin(live, live) };
}

test('a status that differs is written, and known from then on', async () => {
  const { server, state, write } = begin();
  const { status, statusWritten, isWritten, lacking, failures } = await write();
  assert.deepEqual([status?.status, status?.nodeCount, status?.observedGeneration], [200, 0, 1]);
  assert.deepEqual([statusWritten, isWritten, lacking, failures], [true, true, [], []]);
  assert.deepEqual(server.live?.status, status);
  assert.equal(state.pool('worker'), server.live);
  assert.deepEqual(server.requests, ['patch']);
});

test('a status that is there already is not written', async () => {
  const { live, server, write } = await written();
  const { status, statusWritten, isWritten } = await write();
  assert.deepEqual([status, statusWritten, isWritten], [live.status, false, true]);
  assert.deepEqual(server.requests, []);
});

test('after node writes the pool is read, as it may have been deleted meanwhile, unless caches tell', async () => {
  for (const [now, hasStatus] of [
    [undefined, false],
    [recreatedError, false],
    [going, false],
    ['same', true],
  ] as const) {
    const { live, server, write } = await written();
    server.live = now === 'same' ? live : now;
    const { status, statusWritten } = await write({}, [MOVE]);
    assert.deepEqual([status !== undefined, statusWritten, server.requests], [hasStatus, false, ['get']]);
  }
  const { live, server, write } = await written();
  assert.deepEqual((await write({}, [MOVE], true)).status, live.status);
  assert.deepEqual(server.requests, []);
});

test('a pool that is gone, made anew or being deleted has no status, and that is no failure', async () => {
  for (const now of [undefined, recreatedError, going]) {
    const { server, write } = begin();
    server.live = now;
    const { status, statusWritten, isWritten, failures, lacking } = await write();
    assert.deepEqual([status, statusWritten, isWritten, failures, lacking], [undefined, false, true, [], []]);
    assert.deepEqual(server.requests, ['patch', 'get']);
  }
  const { server, write } = begin();
  server.before = () => ({ kind: 'written', pool: going });
  assert.equal((await write()).status, undefined, 'the answer to the write tells it too');
});

test('a conflict: the pool is read, and conditions of others stay in what is written then', async () => {
  const billed = { type: 'Billed', status: 'True', reason: 'X', message: '', lastTransitionTime: NOW } as const;
  const { server, slept, write } = begin();
  server.change({ conditions: [billed as never] });
  const { status, statusWritten } = await write();
  assert.deepEqual([server.requests, slept.length, statusWritten], [['patch', 'get', 'patch'], 1, true]);
  assert.ok(status?.conditions?.some(({ type }) => String(type) === 'Billed'));
  assert.deepEqual(server.live?.status, status);
});

test('a conflict with one who changed something else, and no status is there yet: it is written', async () => {
  const { server, write } = begin();
  server.live = { ...pool, metadata: { ...pool.metadata, labels: { a: 'b' }, resourceVersion: '11' } };
  const { statusWritten, failures } = await write();
  assert.deepEqual([statusWritten, failures, server.requests], [true, [], ['patch', 'get', 'patch']]);
});

test('a conflict with one who wrote the same: nothing is left to write', async () => {
  const { live } = await written();
  const { server, write } = begin(live, pool);
  const { status, statusWritten } = await write({}, [MOVE]);
  assert.deepEqual([status, statusWritten], [live.status, false]);
  assert.deepEqual(server.requests, ['patch', 'get']);
});

test('a conflict with one who has reconciled a later spec: that status stays', async () => {
  for (const [observedGeneration, stays] of [
    [1, false],
    [2, true],
  ] as const) {
    const { server, write } = begin();
    server.change({ nodeCount: 9, observedGeneration }, { generation: 2 });
    const { status } = await write();
    assert.deepEqual([status?.nodeCount, server.requests.length], stays ? [9, 2] : [0, 3]);
  }
});

test('a status that others change before every write is a failure after ten attempts, in the status that is told', async () => {
  const { server, write } = begin();
  server.before = request => {
    if (request === 'patch') server.change({});
    return undefined;
  };
  const { status, statusWritten, isWritten, failures } = await write({ failures: ['an earlier one'] });
  const message = 'cannot write the status of nodepool worker: somebody else keeps changing it';
  assert.deepEqual([isWritten, statusWritten, failures.map(failure => failure.message)], [false, false, [message]]);
  assert.equal(server.requests.filter(request => request === 'patch').length, 10);
  assert.equal(status?.status, 500);
  assert.ok(JSON.stringify(status?.conditions).includes('an earlier one'));
  assert.ok(JSON.stringify(status?.conditions).includes(message));
});

test('fields that the CRD drops are told', async () => {
  const { server, write } = begin();
  server.prune = ({ observedGeneration: _, ...kept }) => kept;
  const { lacking, isWritten } = await write();
  assert.deepEqual([lacking, isWritten], [['status.observedGeneration'], true]);
});

test('404 of a pool that is there: its CRD serves no status subresource', async () => {
  const { server, write } = begin();
  server.before = request => (request === 'patch' ? { kind: 'gone' } : undefined);
  const { lacking, isWritten, failures } = await write();
  assert.deepEqual([lacking, isWritten], [['subresources.status'], false]);
  assert.match(failures[0]?.message ?? '', /^cannot patch the status of NodePool "worker": .* no status subresource$/);
});

test('a refusal where the CRD drops fields of the spec says that; another one, and one that may pass, stays', async () => {
  const said = async (error: NodepoolError, live: NodePool) => {
    const { server, write } = begin(live);
    server.before = request => {
      if (request === 'patch') throw error;
      return undefined;
    };
    const { failures } = await write();
    return [failures[0]?.message, server.requests.length];
  };
  const invalid = new NodepoolError('cluster', 'the test failed');
  const away = new NodepoolError('cluster', 'the server is away', undefined, { isTransient: true });
  const general = new NodepoolError('cluster', 'no credentials', undefined, { isGeneral: true });
  const dropped = { ...pool, dropped: ['taints'] };
  const left =
    'nodepool worker is left as it is: the CRD that is installed drops spec.taints, or a write under such a CRD has lost it';
  assert.deepEqual(await said(invalid, dropped), [left, 2]);
  assert.deepEqual(await said(invalid, pool), ['the test failed', 2]);
  assert.deepEqual(await said(away, dropped), ['the server is away', 1]);
  assert.deepEqual(await said(general, dropped), ['no credentials', 1]);
});

test('a refusal where the spec has been edited since is a conflict: the status is written on what is there now', async () => {
  const edited = { ...pool, spec: { nodeSelector: { kind: 'big' } }, metadata: { ...pool.metadata, generation: 2 } };
  const { server, write } = begin(edited);
  server.before = request => {
    if (request === 'patch' && server.requests.length === 1) throw new NodepoolError('cluster', 'the test failed');
    return undefined;
  };
  const { failures, isWritten, status } = await write();
  assert.deepEqual([isWritten, status?.observedGeneration], [true, 1]);
  assert.match(failures[0]?.message ?? '', /^the spec of nodepool worker was changed while it was reconciled/);
  assert.deepEqual(server.requests, ['patch', 'get', 'get', 'patch']);
});

test('a conflict with one whose spec the CRD drops by now: nothing is written over it', async () => {
  const dropped = { ...pool, dropped: ['nodeSelector'], metadata: { ...pool.metadata, resourceVersion: '12' } };
  const { server, write } = begin(dropped);
  const { failures } = await write();
  assert.match(failures[0]?.message ?? '', /the CRD that is installed drops spec.nodeSelector/);
  assert.deepEqual(server.requests, ['patch', 'get']);
});

test('what the server stores as it was is no write', async () => {
  const { server, write } = begin();
  server.before = request => (request === 'patch' ? { kind: 'written', pool } : undefined);
  assert.equal((await write()).statusWritten, false);
});

test('a refusal after which the pool cannot be read stays; a bug is thrown', async () => {
  const { server, write } = begin();
  server.before = request => {
    throw new NodepoolError('cluster', `cannot ${request}`);
  };
  const { failures } = await write();
  assert.equal(failures[0]?.message, 'cannot patch');
  server.before = () => {
    throw new TypeError('a bug');
  };
  await assert.rejects(write(), TypeError);
});
