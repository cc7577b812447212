/** Reads of which the user may make none, some or all. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allPermitted } from '../../../../src/commands/shared/refusals.ts';
import { ForbiddenError, NodepoolError } from '../../../../src/nodepool/errors.ts';

function forbidden(plural: string): ForbiddenError {
  return new ForbiddenError(`user "bob" may not list ${plural}`, [`verb list on ${plural}`]);
}

async function failing(error: Error, afterMs = 0): Promise<never> {
  await new Promise(resolve => setTimeout(resolve, afterMs));
  throw error;
}

test('names all missing permissions, in the order of the reads', async () => {
  const reads = [
    failing(forbidden('nodepools'), 5),
    Promise.resolve([]),
    failing(forbidden('runtimeclasses')),
  ] as const;
  await assert.rejects(allPermitted(reads), {
    kind: 'cluster',
    missing: ['verb list on nodepools', 'verb list on runtimeclasses'],
    lines: [
      'the user lacks permissions:',
      'user "bob" may not list nodepools',
      'user "bob" may not list runtimeclasses',
    ],
    next: 'ask for a role with verb list on nodepools, verb list on runtimeclasses',
  });
});

test('keeps the error of a single missing permission, and names nested reads once', async () => {
  const one = forbidden('nodes');
  await assert.rejects(allPermitted([Promise.resolve(1), failing(one)]), error => error === one);
  const inner = allPermitted([failing(forbidden('nodepools')), failing(one)]);
  await assert.rejects(allPermitted([inner, failing(forbidden('pods'))]), {
    lines: ['the user lacks permissions:', ...['nodepools', 'nodes', 'pods'].map(each => forbidden(each).message)],
    next: 'ask for a role with verb list on nodepools, verb list on nodes, verb list on pods',
  });
});

test('returns what was read, and throws any other error at once', async () => {
  assert.deepEqual(await allPermitted([Promise.resolve(1), Promise.resolve('a')]), [1, 'a']);
  const never = new Promise<never>(() => {});
  await assert.rejects(allPermitted([never, failing(new NodepoolError('cluster', 'no answer'))]), {
    message: 'no answer',
  });
});
