/** Which adopted pools are created when nodes change during the question. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../../src/nodepool/types.ts';
import { findAdoptable, poolsToCreate } from '../../../src/operations/adopt.ts';
import type { Proposal } from '../../../src/operations/consent.ts';
import type { CreateDeps } from '../../../src/operations/create.ts';
import { createAdopted } from '../../../src/operations/create-adopted.ts';
import type { RawPool } from '../../../src/operations/ports.ts';
import { aNode } from '../nodepool/fixtures.ts';

const node = (name: string, team: string, labels = {}) => aNode({ name, uid: name, labels: { team, ...labels } });

/** Proposes two pools, then changes the nodes. Returns the questions and the created pools. */
async function adopt(nodes: Node[], later: Node[]) {
  let current = nodes;
  const [questions, created]: [string[], string[]] = [[], []];
  const deps = {
    cluster: {
      pools: {
        listCoerced: async () => [],
        create: async (pool: RawPool) => {
          created.push(`${pool.metadata.name} ${JSON.stringify(pool.spec)}`);
          return { kind: 'created', pool };
        },
      },
      nodes: { list: async () => current },
    },
    approve: async ({ question }: Proposal) => {
      if (question === undefined) return 'clear';
      questions.push([question.text, ...question.covers].join(' '));
      if (questions.length > 1 && questions.at(-1) === questions.at(-2)) return 'clear';
      current = later;
      return 'asked';
    },
  } as unknown as CreateDeps;
  const found = await findAdoptable({ labels: ['team'], names: [] }, deps);
  await createAdopted({ pools: poolsToCreate(found, false), labels: ['team'], dryRun: 'none' }, deps);
  return { questions, created };
}

test('asks again when one of two pools is left, with another label', async () => {
  const { questions } = await adopt(
    [node('a', 'red'), node('b', 'blue')],
    [node('a', 'red', { 'example.com/late': 'yes' })],
  );
  assert.match(questions[1] ?? '', /^Create pools red\?.*example\.com\/late/);
});

test('skips a pool whose last node was deleted', async () => {
  const { created } = await adopt([node('a', 'red'), node('b', 'blue')], [node('a', 'red')]);
  assert.deepEqual(
    created.map(text => text.split(' ')[0]),
    ['red'],
  );
});
