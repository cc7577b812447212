/** Which adopted pools are created when nodes change during the question. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAdopted } from '../../../../src/commands/adopt/create-adopted.ts';
import { type AdoptReader, findAdoptable, poolsToCreate } from '../../../../src/commands/adopt/run.ts';
import type { Proposal } from '../../../../src/commands/shared/consent/consent.ts';
import type { CreateDeps } from '../../../../src/commands/shared/create/create.ts';
import type { RawPool } from '../../../../src/kube/cluster.ts';
import type { NodepoolError } from '../../../../src/nodepool/errors.ts';
import type { Node, NodePool } from '../../../../src/nodepool/types.ts';
import { aNode, aPool } from '../../nodepool/fixtures.ts';

const node = (name: string, team: string, labels = {}) => aNode({ name, uid: name, labels: { team, ...labels } });

/** Proposes two pools, then changes the nodes. Returns the questions and the created pools. */
async function adopt(nodes: Node[], later: Node[], laterPools: NodePool[] = [], raced?: string) {
  let current = nodes;
  let pools: NodePool[] = [];
  const [questions, created]: [string[], string[]] = [[], []];
  const deps = {
    cluster: {
      pools: {
        listCoerced: async () => pools,
        create: async (pool: RawPool) => {
          if (pool.metadata.name === raced) {
            pools = laterPools;
            return { kind: 'exists' };
          }
          created.push(`${pool.metadata.name} ${JSON.stringify(pool.spec)}`);
          return { kind: 'created', pool };
        },
      },
    },
    annotatedNodes: async () => ({ nodes: current, annotations: [] }),
    approve: async ({ action, question }: Proposal) => {
      if (question === undefined) return 'clear';
      questions.push([action, ...question.covers].join(' '));
      if (questions.length > 1 && questions.at(-1) === questions.at(-2)) return 'clear';
      current = later;
      if (raced === undefined) pools = laterPools;
      return 'asked';
    },
  } as unknown as CreateDeps & AdoptReader;
  const found = await findAdoptable({ labels: ['team'], names: [] }, deps);
  const work = createAdopted({ pools: poolsToCreate(found, false), labels: ['team'], dryRun: 'none' }, deps);
  const result = await work.catch((error: NodepoolError) => ({ errors: [error] }));
  const taken = (result?.errors ?? []).map(({ message, next }) => `${message}; next: ${next}`);
  return { questions, created, taken };
}

test('asks again, with another label, when one of two pools is left', async () => {
  const { questions } = await adopt(
    [node('a', 'red'), node('b', 'blue')],
    [node('a', 'red', { 'example.com/late': 'yes' })],
  );
  assert.match(questions[1] ?? '', /^Create pool red .*example\.com\/late/);
});

test('skips a pool whose last node was deleted', async () => {
  const { created } = await adopt([node('a', 'red'), node('b', 'blue')], [node('a', 'red')]);
  assert.deepEqual(
    created.map(text => text.split(' ')[0]),
    ['red'],
  );
});

test('names a pool whose name was taken during the question or just before its creation', async () => {
  const creationTimestamp = '2026-01-01T00:00:00Z';
  const metadata = { creationTimestamp, managedFields: [{ manager: 'kubectl-create', time: creationTimestamp }] };
  const says =
    'pool blue was not created: kubectl-create created a pool of the same name at 2026-01-01T00:00:00Z; next: run `kubectl nodepool adopt` to list the remaining pools';
  const nodes = [node('a', 'red'), node('b', 'blue')];
  for (const nodeSelector of [{ team: 'blue' }, { other: 'x' }]) {
    const blue = aPool({ nodeSelector }, { ...metadata, name: 'blue', uid: 'theirs' });
    const { created, taken } = await adopt(nodes, nodes, [blue]);
    assert.deepEqual([created.map(text => text.split(' ')[0]), taken], [['red'], [says]]);
  }
  const blue = aPool({}, { ...metadata, name: 'blue', uid: 'theirs' });
  const { taken } = await adopt(nodes, nodes, [blue], 'blue');
  assert.deepEqual(taken, [says]);
});
