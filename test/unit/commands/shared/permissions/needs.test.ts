/** A refused command names the other reads that it needs, and asks the server only then. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withMissingReads } from '../../../../../src/commands/shared/permissions/needs.ts';
import type { AccessQuestion } from '../../../../../src/kube/api/access-reviews.ts';
import { ForbiddenError, NodepoolError } from '../../../../../src/nodepool/errors.ts';

const POOLS = 'nodepools.nodes.lailin.xyz';

function refusal(...missing: string[]): ForbiddenError {
  return new ForbiddenError('the user lacks permissions:', missing, { items: ['a', 'b'], otherwise: 'wait' });
}

async function found(given: ForbiddenError, command: string, isAllowed: (question: AccessQuestion) => boolean) {
  const asked: string[] = [];
  const error = await withMissingReads(given, command, {
    doctor: async () => ({
      async allowed(questions) {
        asked.push(...questions.map(({ verb, resource }) => `${verb} ${resource}`));
        return questions.map(isAllowed);
      },
    }),
  });
  assert.deepEqual(error.lines, ['the user lacks permissions:', 'a', 'b']);
  return { error, asked };
}

test('names the reads that the user may not perform', async () => {
  const given = [`verb list on ${POOLS}`, 'verb list on nodes'];
  const { error, asked } = await found(refusal(...given), 'drain', ({ resource }) => resource === 'daemonsets');
  const others = ['get on nodes', 'list on pods', 'get on pods', 'list on poddisruptionbudgets.policy'];
  const all = [...given, ...others.map(each => `verb ${each}`)];
  assert.deepEqual(error.missing, all);
  assert.equal(error.next, `ask for a role with ${all.join(', ')}, or wait`);
  assert.deepEqual(asked, ['get nodes', 'list pods', 'get pods', 'get daemonsets', 'list poddisruptionbudgets']);
});

test('names the namespace of the refused request', async () => {
  const { error } = await found(refusal('verb list on events.events.k8s.io'), 'events', () => true);
  assert.deepEqual(error.missing, ['verb list on events.events.k8s.io in default']);
});

test('asks nothing if the error names all reads', async () => {
  const given = refusal(...[POOLS, 'nodes', 'runtimeclasses.node.k8s.io'].map(what => `verb list on ${what}`));
  assert.deepEqual(await found(given, 'diff', () => false), { error: given, asked: [] });
});

test('keeps the error when the server does not answer', async () => {
  const given = refusal('verb list on nodes');
  const doctor = async () => {
    throw new NodepoolError('cluster', 'no');
  };
  assert.equal(await withMissingReads(given, 'drain', { doctor }), given);
});
