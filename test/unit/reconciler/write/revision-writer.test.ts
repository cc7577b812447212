/** Which requests keep the history of pools, and the warning if it cannot be kept. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort, ControllerRevisionsClient } from '../../../../src/kube/cluster.ts';
import { ForbiddenError, NodepoolError, type Warning } from '../../../../src/nodepool/errors.ts';
import { type ControllerRevision, newRevision, revisionHead } from '../../../../src/nodepool/rollout/revisions.ts';
import { coercePool } from '../../../../src/nodepool/spec/coerce.ts';
import type { NodePool, NodePoolSpec, NodePoolStatus, ObjectMeta } from '../../../../src/nodepool/types.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { RevisionWriter } from '../../../../src/reconciler/write/revision-writer.ts';
import { aPool } from '../../nodepool/fixtures.ts';
import { reconcilerOptions } from '../reconciler-options.ts';

/** A pool of this generation, whose status tells of `observed`. */
function version(tier: number, generation: number, observed?: number, metadata: Partial<ObjectMeta> = {}): NodePool {
  const status = { status: 200, nodeCount: 0, observedGeneration: observed } as NodePoolStatus;
  const pool = aPool({ labels: { tier: `${tier}` } }, { name: 'w', uid: 'uid-w', generation, ...metadata });
  return observed === undefined ? pool : { ...pool, status };
}

/** A server with these revisions; `calls` are the requests. */
function aServer(stored: ControllerRevision[], overrides: Partial<ControllerRevisionsClient> = {}) {
  const calls: string[] = [];
  const labelled = (pool?: string) =>
    stored.filter(({ metadata }) => pool === undefined || metadata.labels?.['nodes.lailin.xyz/pool'] === pool);
  const client: ControllerRevisionsClient = {
    async list(pool) {
      return labelled(pool);
    },
    async heads(pool) {
      return labelled(pool).map(revisionHead);
    },
    async get(name) {
      return stored.find(({ metadata }) => metadata.name === name);
    },
    async create(revision) {
      if (stored.some(({ metadata }) => metadata.name === revision.metadata.name)) return { kind: 'exists' };
      stored.push(revision);
      return { kind: 'created', revision };
    },
    async update({ metadata }, { revision }) {
      const at = stored.findIndex(each => each.metadata.name === metadata.name);
      const found = stored[at];
      if (found === undefined) return { kind: 'gone' };
      const raised = { ...found, revision };
      stored[at] = raised;
      return { kind: 'written', revision: raised };
    },
    async delete({ metadata }) {
      stored.splice(
        stored.findIndex(({ metadata: { name } }) => name === metadata.name),
        1,
      );
      return 'deleted';
    },
    ...overrides,
  };
  const revisions = Object.fromEntries(
    Object.entries(client).map(([name, call]) => [
      name,
      (...args: never[]) => {
        calls.push([name, ...args.filter(arg => typeof arg === 'string')].join(' '));
        return (call as (...args: never[]) => unknown)(...args);
      },
    ]),
  );
  return { port: { revisions } as unknown as ClusterPort, calls, stored };
}

const numbers = (stored: readonly ControllerRevision[]) =>
  stored.map(({ revision, data }) => `${revision}:${(data as { spec: NodePoolSpec }).spec.labels?.tier}`).toSorted();

test('writes one revision for each spec without one, and lists revisions once', async () => {
  const pools = ['a', 'b', 'c', 'd'].map((name, at) =>
    version(0, at < 2 ? 1 : 2, at < 2 ? undefined : at - 1, { name, uid: name }),
  );
  const [a, b, changed, same] = pools;
  assert.ok(a && b && changed && same);
  const server = aServer([newRevision(same, 1, 0)]);
  const writer = new RevisionWriter(reconcilerOptions(server.port, new ClusterState(pools, [], [])));
  for (const pool of pools) await writer.keep(pool, []);
  for (const pool of pools) await writer.keep(pool, []);
  assert.deepEqual(server.calls, ['create', 'create', 'heads', 'create']);
});

test('writes the missing revision of an unchanged pool, so that its next change can be undone', async () => {
  const server = aServer([]);
  for (const pool of [version(1, 2, 2), version(2, 3, 2)]) {
    const options = reconcilerOptions(server.port, new ClusterState([pool], [], []));
    await new RevisionWriter(options).keep(pool, []);
  }
  assert.deepEqual(numbers(server.stored), ['1:1', '2:2']);
});

test('a watch lists revisions once, and then remembers them', async () => {
  const former = Array.from({ length: 11 }, (_, at) => newRevision(version(at, 1), at + 1, 0));
  const server = aServer(former);
  const pool = version(10, 11, 11);
  const options = reconcilerOptions(server.port, new ClusterState([pool], [], []), { hasCaches: true });
  const writer = new RevisionWriter(options);
  await writer.keep(pool, []);
  assert.deepEqual(server.calls.splice(0), ['heads']);
  await writer.keep(version(11, 12, 11), []);
  assert.deepEqual(server.calls.splice(0), ['create', 'delete']);
  await writer.keep(version(5, 13, 12), []);
  assert.deepEqual(server.calls.splice(0), ['update']);
  assert.deepEqual(
    numbers(server.stored),
    ['10:9', '11:10', '12:11', '13:5', '2:1', '3:2', '4:3', '5:4', '7:6', '8:7', '9:8'].toSorted(),
  );
  // Another process may have kept generation 14.
  server.stored.push(newRevision(version(14, 14), 14, 0));
  await writer.keep(version(15, 15, 13), []);
  assert.deepEqual(server.calls.splice(0), ['heads w', 'create', 'delete', 'delete']);
  assert.ok(numbers(server.stored).includes('15:15'));
});

test('keeps both specs of a pool that was edited before its status was written', async () => {
  const server = aServer([newRevision(version(0, 1), 1, 0)]);
  const options = reconcilerOptions(server.port, new ClusterState([version(1, 2)], [], []));
  await new RevisionWriter(options).keep(version(1, 2), []);
  assert.deepEqual(numbers(server.stored), ['1:0', '2:1']);
  // Another process has kept the spec of a new pool.
  const same = aServer([newRevision(version(0, 1), 1, 0)]);
  await new RevisionWriter(reconcilerOptions(same.port, new ClusterState([version(0, 1)], [], []))).keep(
    version(0, 1),
    [],
  );
  assert.deepEqual(numbers(same.stored), ['1:0']);
});

test('after a failure, counts the revision that an edit saved for the failed spec', async () => {
  let fails = true;
  const server = aServer([]);
  const { create } = server.port.revisions;
  server.port.revisions.create = async revision => {
    if (fails) throw new NodepoolError('cluster', 'the server is busy');
    return create(revision);
  };
  const pool = version(1, 3);
  const writer = new RevisionWriter(reconcilerOptions(server.port, new ClusterState([pool], [], [])));
  await writer.keep(pool, []);
  fails = false;
  server.stored.push(newRevision(pool, 3, 0));
  await writer.keep(version(2, 4), []);
  assert.deepEqual(numbers(server.stored), ['3:1', '4:2']);
});

test('keeps fields that this version does not know', async () => {
  const server = aServer([]);
  const pool = coercePool({ ...version(0, 1), spec: { labels: { tier: '0' }, later: { x: 1 } } as NodePoolSpec });
  await new RevisionWriter(reconcilerOptions(server.port, new ClusterState([pool], [], []))).keep(pool, []);
  assert.deepEqual(server.stored[0]?.data, { spec: { labels: { tier: '0' }, later: { x: 1 } } });
});

async function warningsOf(overrides: Partial<ControllerRevisionsClient>): Promise<Warning[]> {
  const server = aServer(
    Array.from({ length: 12 }, (_, at) => newRevision(version(at, 1), at + 1, 0)),
    overrides,
  );
  const pool = version(11, 12, 11);
  const warnings: Warning[] = [];
  const options = reconcilerOptions(server.port, new ClusterState([pool], [], []));
  await new RevisionWriter(options).keep(pool, warnings);
  return warnings;
}

const refuse = () => Promise.reject(new NodepoolError('cluster', 'a policy refuses it', 'ask'));

test('keeps the revision of the spec when an old revision cannot be deleted', async () => {
  const expected = { message: 'an old revision was not deleted: a policy refuses it', next: 'ask' };
  assert.deepEqual(await warningsOf({ delete: refuse }), [expected]);
});

test('keeps no revision when revisions cannot be listed', async () => {
  const expected = { message: '`rollout undo` will not find this spec: a policy refuses it', next: 'ask' };
  assert.deepEqual(await warningsOf({ heads: refuse }), [expected]);
});

test('without permission, one pool asks, and one warning names all verbs', async () => {
  const pools = ['a', 'b', 'c'].map(name => version(0, 1, undefined, { name, uid: name }));
  const server = aServer([], {
    create: ({ metadata }) =>
      Promise.reject(new ForbiddenError(`cannot create ${metadata.name}`, ['verb create on controllerrevisions.apps'])),
  });
  const writer = new RevisionWriter(reconcilerOptions(server.port, new ClusterState(pools, [], [])));
  const warnings: Warning[] = [];
  for (const pool of pools) await writer.keep(pool, warnings);
  assert.deepEqual(server.calls, ['create']);
  assert.equal(warnings.length, 1);
  const [warning] = warnings;
  assert.ok(typeof warning === 'object');
  assert.match(warning.message, /^`rollout undo` will not find new specs of pools: cannot create a-/);
  assert.match(warning.next ?? '', /verbs get, list, create, patch and delete on controllerrevisions\.apps/);
});

test('without permission to list, warns about new specs only', async () => {
  const refuseList = () => Promise.reject(new ForbiddenError('cannot list', ['verb list on controllerrevisions.apps']));
  const pools = [2, 1, 1].map((observed, at) => version(0, 2, observed, { name: `w${at}`, uid: `uid-w${at}` }));
  const server = aServer([], { heads: refuseList });
  const writer = new RevisionWriter(reconcilerOptions(server.port, new ClusterState(pools, [], [])));
  const warned: number[] = [];
  for (const pool of pools) {
    const warnings: Warning[] = [];
    await writer.keep(pool, warnings);
    warned.push(warnings.length);
  }
  assert.deepEqual(warned, [0, 1, 0]);
  assert.deepEqual(server.calls, ['heads']);
});

test('an old revision that cannot be deleted does not block revisions of other pools', async () => {
  const former = Array.from({ length: 12 }, (_, at) => newRevision(version(at, 1), at + 1, 0));
  const server = aServer(former, {
    delete: () => Promise.reject(new ForbiddenError('cannot delete', ['verb delete on controllerrevisions.apps'])),
  });
  const pools = [version(12, 13, 12), version(0, 1, undefined, { name: 'other', uid: 'uid-other' })];
  const writer = new RevisionWriter(reconcilerOptions(server.port, new ClusterState(pools, [], [])));
  const warnings: Warning[] = [];
  for (const pool of pools) await writer.keep(pool, warnings);
  assert.deepEqual(server.calls, ['heads', 'create', 'delete', 'create']);
  assert.deepEqual(
    warnings.map(warning => (warning as { message: string }).message),
    ['an old revision was not deleted: cannot delete'],
  );
});
