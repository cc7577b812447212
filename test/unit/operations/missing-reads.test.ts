/** A refused command names the other reads that it needs, and asks the server only then. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import type { AccessQuestion } from '../../../src/operations/doctor-port.ts';
import { withMissingReads } from '../../../src/operations/missing-reads.ts';

const POOLS = 'nodepools.nodes.lailin.xyz';

function refusal(next: string): NodepoolError {
  return new NodepoolError('cluster', 'the user lacks permissions:', next, { items: ['a', 'b'], isForbidden: true });
}

async function next(given: string, command: string, isAllowed: (question: AccessQuestion) => boolean) {
  const asked: string[] = [];
  const error = await withMissingReads(refusal(given), command, {
    doctor: async () => ({
      async allowed(questions) {
        asked.push(...questions.map(({ verb, resource }) => `${verb} ${resource}`));
        return questions.map(isAllowed);
      },
    }),
  });
  assert.deepEqual([error.lines, error.isForbidden], [['the user lacks permissions:', 'a', 'b'], true]);
  return { next: error.next, asked };
}

test('names the reads of the command that the user lacks', async () => {
  const given = `ask for a role with verb list on ${POOLS}, verb list on nodes, or wait`;
  const { next: all, asked } = await next(given, 'drain', ({ resource }) => resource === 'daemonsets');
  const others = 'verb get on nodes, verb list on pods, verb get on pods, verb list on poddisruptionbudgets.policy';
  assert.equal(all, `ask for a role with verb list on ${POOLS}, verb list on nodes, ${others}, or wait`);
  assert.deepEqual(asked, ['get nodes', 'list pods', 'get pods', 'get daemonsets', 'list poddisruptionbudgets']);
});

test('asks nothing where all reads are named, or another thing is missing', async () => {
  const all = [POOLS, 'nodes', 'runtimeclasses.node.k8s.io'].map(what => `verb list on ${what}`).join(', ');
  for (const given of [`ask for a role with ${all}`, 'ask an administrator']) {
    assert.deepEqual(await next(given, 'diff', () => false), { next: given, asked: [] });
  }
});

test('leaves the error as it was where the server does not answer', async () => {
  const given = refusal('ask for a role with verb list on nodes');
  const doctor = async () => {
    throw new NodepoolError('cluster', 'no');
  };
  assert.equal(await withMissingReads(given, 'drain', { doctor }), given);
});
