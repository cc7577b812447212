import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ControllerRevision,
  causeOf,
  excessRevisions,
  foreignWriter,
  newRevision,
  planRevision,
  poolRevisions,
  restoredSpec,
  revisionHead,
  revisionToRestore,
} from '../../../../src/nodepool/rollout/revisions.ts';
import { aPool } from '../fixtures.ts';

const annotated = (cause: string) => ({ annotations: { 'kubernetes.io/change-cause': cause } });
const kept = (tier: string, revision: number, more: Partial<ControllerRevision> = {}): ControllerRevision => ({
  ...newRevision(aPool({ labels: { tier } }), revision, 0),
  ...more,
});

test('names the creator of a revision unless it is this program', () => {
  const made = (...managers: [string, string][]) => {
    const managedFields = managers.map(([manager, field]) => ({ manager, fieldsV1: { [field]: {} } }));
    const revision = kept('1', 1);
    return foreignWriter({ ...revision, metadata: { ...revision.metadata, managedFields } as never });
  };
  assert.equal(made(['kubectl-nodepool', 'f:data'], ['kubectl-annotate', 'f:metadata']), undefined);
  assert.equal(made(['curl', 'f:data']), 'curl');
  assert.equal(made(['kubectl-nodepool', 'f:metadata']), 'an unknown field manager');
  assert.equal(foreignWriter(kept('1', 1)), 'an unknown field manager');
});

test('leaves out noExecute, paused and rollout; derives the name from the content', () => {
  const stays = { noExecute: 'Drain' as const, paused: true, rollout: { canary: 1 } };
  const pool = aPool({ labels: { b: '2', a: '1' }, ...stays }, annotated('why'));
  const made = newRevision(pool, 3, 0);
  assert.deepEqual(made, {
    metadata: {
      name: made.metadata.name,
      labels: { 'nodes.lailin.xyz/pool': 'worker' },
      annotations: { 'kubernetes.io/change-cause': 'why' },
      ownerReferences: [
        { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', name: 'worker', uid: 'uid-worker', controller: true },
      ],
    },
    data: { spec: { labels: { b: '2', a: '1' } } },
    revision: 3,
  });
  assert.match(made.metadata.name, /^worker-[b-df-hj-np-tv-xz2-9]+$/);
  const [same, other, next] = [
    newRevision(aPool({ labels: { a: '1', b: '2' } }), 1, 0),
    newRevision(aPool({ labels: { a: '1', b: '3' } }), 1, 0),
    newRevision(pool, 3, 1),
  ];
  assert.equal(same.metadata.name, made.metadata.name, 'whatever the order of its keys');
  assert.equal(new Set([made, other, next].map(({ metadata }) => metadata.name)).size, 3);
});

test('the hash is FNV-1 in the alphabet that Kubernetes uses', () => {
  const { name } = newRevision(aPool(), 1, 0).metadata;
  assert.equal(name, `worker-${safe(fnv('{"spec":{}}'))}`);
});

test('the history has only revisions of this pool UID, ordered by number', () => {
  const owner = (more: object) => {
    const { metadata } = kept('x', 1);
    const [reference] = metadata.ownerReferences ?? [];
    return { metadata: { ...metadata, ownerReferences: [{ ...reference, ...more }] } } as Partial<ControllerRevision>;
  };
  const [first, second] = [kept('1', 1), kept('2', 2)];
  const foreign = [
    kept('x', 3, { metadata: { name: 'worker-x' } }),
    kept('x', 3, owner({ uid: 'of-an-earlier-pool' })),
    kept('x', 3, owner({ controller: false })),
    kept('x', 3, owner({ kind: 'DaemonSet' })),
    kept('x', 3, owner({ apiVersion: 'karpenter.sh/v1' })),
    kept('x', 3, { data: undefined }),
    kept('x', 3, { data: { spec: 'text' } }),
    kept('x', 0),
    kept('x', 2 ** 60),
    kept('x', 1.5),
    kept('x', 3, { metadata: { ...kept('x', 3).metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }),
  ];
  assert.deepEqual(poolRevisions(aPool(), [second, ...foreign, first]), [first, second]);
  const { uid: _uid, ...metadata } = aPool().metadata;
  assert.deepEqual(poolRevisions({ metadata }, [first]), []);
});

test('a new spec gets the next number, and a former spec that returns is renumbered', () => {
  const own = [kept('1', 1), kept('2', 4)].map(revisionHead);
  const plan = (tier: string) => planRevision(aPool({ labels: { tier }, rollout: {} }), own);
  assert.deepEqual(planRevision(aPool(), []), { kind: 'create', revision: 1 });
  assert.deepEqual(plan('3'), { kind: 'create', revision: 5 });
  assert.deepEqual(plan('1'), { kind: 'update', current: own[0], revision: 5 });
  assert.deepEqual(plan('2'), { kind: 'none' });
  const caused = planRevision(aPool({ labels: { tier: '2' } }, annotated('why')), own);
  assert.deepEqual(caused, { kind: 'update', current: own[1], revision: 4 }, 'a cause that is given later');
});

test('keeps ten former revisions', () => {
  const own = Array.from({ length: 13 }, (_, at) => revisionHead(kept(String(at), at + 1)));
  assert.deepEqual(excessRevisions(own), own.slice(0, 2));
  assert.deepEqual(excessRevisions(own.slice(2)), []);
});

test('restores the spec, and leaves paused and rollout as they are', () => {
  const revision = kept('1', 1, { data: { spec: { labels: { tier: '1' }, paused: false, rollout: { canary: 9 } } } });
  const spec = { labels: { tier: '2' }, handler: 'runc', paused: true, rollout: { canary: 1 } };
  assert.deepEqual(restoredSpec(spec, revision), { labels: { tier: '1' }, paused: true, rollout: { canary: 1 } });
  assert.deepEqual(restoredSpec({ labels: {} }, revision), { labels: { tier: '1' } });
});

test('undo selects the previous revision, the current one after an unreconciled edit, or a number', () => {
  const own = [kept('1', 1), kept('2', 2), kept('3', 7)];
  const chosen = (tier: string, number = 0) => revisionToRestore(aPool({ labels: { tier } }), own, number)?.revision;
  assert.equal(chosen('3'), 2);
  assert.equal(chosen('edited'), 7);
  assert.equal(chosen('1'), 7);
  assert.equal(chosen('3', 1), 1);
  assert.equal(chosen('3', 5), undefined);
  assert.equal(revisionToRestore(aPool({ labels: { tier: '1' } }), own.slice(0, 1), 0), undefined);
});

test('cuts a long change cause, and ignores one of another type', () => {
  assert.equal(causeOf(aPool()), undefined);
  assert.equal(causeOf(aPool({}, annotated(''))), undefined);
  assert.equal(new TextEncoder().encode(causeOf(aPool({}, annotated('ä'.repeat(2_000))))).length <= 1024, true);
});

test('reports a spec that is nested too deeply as a user error', () => {
  let deep: unknown = {};
  for (let depth = 0; depth < 100_000; depth++) deep = { deep };
  assert.throws(() => newRevision({ ...aPool(), spec: { deep } }, 1, 0), { kind: 'input', message: /levels/ });
});

function fnv(text: string): number {
  const sum = [...text].reduce(
    (at, char) => BigInt.asUintN(32, at * 16777619n) ^ BigInt(char.charCodeAt(0)),
    2166136261n,
  );
  return Number(sum);
}

function safe(number: number): string {
  const characters = 'bcdfghjklmnpqrstvwxz2456789';
  return [...String(number)].map(digit => characters[digit.charCodeAt(0) % 27]).join('');
}
