/** A pool that gains a node from another pool of the same run after its reconcile. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { movesOf } from '../../../../../src/commands/shared/reconcile/apply.ts';
import type { ClusterPort } from '../../../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../../../src/nodepool/errors.ts';
import type { NodePool, RuntimeClass } from '../../../../../src/nodepool/types.ts';
import { type Overrides, override } from '../../../../override.ts';
import { aNode, aPool, recordOf } from '../../../nodepool/fixtures.ts';
import { member, pool, role } from '../fake-server.ts';
import { applied, names, statusesIn } from './run-apply.ts';

/** c releases n1, whose restored label makes it join d, after d was reconciled. */
const C = pool('c', { tier: 'c' });
const D = aPool({ nodeSelector: { tier: 'old' }, handler: 'runc' }, { ...pool('d', {}).metadata, name: 'd' });
const RELEASED = aNode({
  name: 'n1',
  labels: { tier: 'c' },
  record: recordOf({ pool: 'c', labels: { tier: 'c' }, displaced: { labels: { tier: 'old' } } }),
});

/** The events of the first reconcile fail, and its status loses its conditions; the write of n1 waits for that status. */
function firstRound({ nodes, pools, createEvent }: ClusterPort): Overrides {
  let created: RuntimeClass | undefined;
  const first = Promise.withResolvers<void>();
  const rounds = { status: 0, event: 0 };
  return {
    runtimeClasses: {
      get: async () => created,
      async create(runtimeClass) {
        created = { ...runtimeClass, metadata: { ...runtimeClass.metadata, uid: 'uid-rc', resourceVersion: '1' } };
        return { kind: 'created', runtimeClass: created };
      },
    },
    nodes: {
      async patch(name, patch, options) {
        if (name === 'n1') await first.promise;
        return nodes.patch(name, patch, options);
      },
    },
    pools: {
      async patchStatus(of, status) {
        const answer = await pools.patchStatus(of, status);
        if (of.metadata.name !== 'd' || ++rounds.status > 1 || answer.kind !== 'written') return answer;
        first.resolve();
        const { conditions: _conditions, ...stored } = status;
        return { kind: 'written', pool: { ...answer.pool, status: stored } };
      },
    },
    async createEvent(of, event) {
      if (of.metadata.name === 'd' && ++rounds.event === 1) throw new NodepoolError('cluster', 'cannot create events');
      return createEvent(of, event);
    },
  };
}

test('reconciles a pool again that gains a node later, and reports both reconciles', async () => {
  for (const order of [
    ['c', 'd'],
    ['d', 'c'],
  ]) {
    const nodes = [RELEASED, aNode({ name: 'n2', uid: 'uid-n2', labels: { tier: 'old' } })];
    const { chosen, others, known, writes } = await applied([C, D], nodes, { pools: order }, { port: firstRound });
    assert.deepEqual([names(chosen), others], [order, []]);
    const of = (name: string) => chosen.find(each => each.pool === name)?.outcome ?? assert.fail();
    assert.deepEqual([of('d').status?.nodeCount, known.get('d')?.status?.nodeCount], [2, 2]);
    assert.deepEqual([of('c').status?.nodeCount, known.get('c')?.status?.nodeCount], [0, 0]);
    assert.equal(of('d').runtimeClass.kind, 'created');
    assert.deepEqual(of('d').lacking, ['status.conditions']);
    assert.deepEqual(of('d').warnings, ['cannot create events']);
    assert.equal(of('d').statusWritten, true);
    assert.deepEqual(
      movesOf(chosen)
        .map(({ node, from, to }) => [node, from, to])
        .toSorted(),
      [
        ['n1', 'c', 'd'],
        ['n2', undefined, 'd'],
      ],
    );
    assert.deepEqual(statusesIn(writes), ['status d 200 1', 'status c 200 0', 'status d 200 2']);
  }
});

test('keeps the results of the first reconcile when the second is refused', async () => {
  const dropped = ['handler'];
  const port = (cluster: ClusterPort): Overrides => {
    const round = firstRound(cluster);
    const { pools } = override(cluster, round);
    const drop = <T extends NodePool | undefined>(of: T): T => of && { ...of, dropped };
    return {
      ...round,
      pools: {
        getCoerced: async name => drop(await cluster.pools.getCoerced(name)),
        async patchStatus(of, status) {
          const answer = await pools.patchStatus(of, status);
          return of.metadata.name === 'd' && answer.kind === 'written'
            ? { ...answer, pool: drop(answer.pool) }
            : answer;
        },
      },
    };
  };
  const { chosen } = await applied([C, D], [RELEASED], { pools: ['d', 'c'] }, { port });
  const [d] = chosen;
  assert.deepEqual([d?.outcome?.status?.nodeCount, d?.outcome?.runtimeClass.kind], [0, 'created']);
  assert.match(d?.error?.message ?? '', /^pool d is not changed: the installed CRD drops spec.handler/);
});

test('reconciles a pool that neither gained nor lost nodes once', async () => {
  const nodes = [{ ...member('n2', 'c', 'x'), labels: role('c') }, RELEASED];
  const other = pool('e', {});
  const { writes } = await applied([C, other], nodes, { pools: ['c', 'e'] });
  assert.deepEqual(statusesIn(writes).toSorted(), ['status c 200 1', 'status e 200 0']);
});
