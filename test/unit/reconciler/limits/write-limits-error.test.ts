/** Why a node at its limit of writes is not written. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort } from '../../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import type { Change } from '../../../../src/nodepool/plan/plan.ts';
import { limitError } from '../../../../src/reconciler/limits/write-limits.ts';

const limit = 'node n1 reached the limit of 10 writes within a minute';
const label: Change = { kind: 'label', key: 'tier', action: 'change', from: 'theirs', to: 'gold', reason: 'drift' };
const taint: Change = { kind: 'taint', key: 'own', effect: 'NoSchedule', action: 'add', to: 'x', reason: 'drift' };
const stripped: Change = { kind: 'label', key: 'more', action: 'remove', from: 'x', reason: 'unmanaged' };
const own: Change = { ...label, key: 'own', reason: 'spec' };

/** The error for changes that others made necessary, and the fields whose managers were read. */
async function contested(changes: Change[], manager: string | undefined = undefined) {
  const asked: string[] = [];
  const fieldManager = async (node: string, path: readonly string[]) => {
    asked.push(`${node}: ${path.join(' ')}`);
    return manager;
  };
  const { message, next, kind } = await limitError('n1', changes, true, {
    nodes: { fieldManager },
  } as unknown as ClusterPort);
  return { message, next, kind, asked };
}

test('names labels and taints that others keep changing, and who changes them', async () => {
  const next = 'stop that writer, or remove the keys that it changes from the pool';
  assert.deepEqual(await contested([label], 'kubectl'), {
    message: `${limit}: something else (field manager kubectl) keeps changing label tier from "gold" to "theirs"`,
    next,
    kind: 'cluster',
    asked: ['n1: metadata labels tier'],
  });
  assert.deepEqual(await contested([taint, stripped], 'agent'), {
    message: `${limit}: something else (field manager agent) keeps removing taint own:NoSchedule, setting label more to "x"`,
    next,
    kind: 'cluster',
    asked: ['n1: spec taints'],
  });
});

test('names an annotation, and cuts long values', async () => {
  const note: Change = { ...label, kind: 'annotation', key: 'note', from: 'x'.repeat(1000) };
  const { message, asked } = await contested([note], 'agent');
  assert.deepEqual(asked, ['n1: metadata annotations note']);
  assert.match(message, /keeps changing annotation note from "gold" to "x{150,200}…"$/);
});

test('names three changes of others, and none of the pool', async () => {
  const { message } = await contested([own, label, taint, stripped, { ...stripped, key: 'fourth' }]);
  assert.equal(
    message,
    `${limit}: something else keeps changing label tier from "gold" to "theirs", removing taint own:NoSchedule, setting label more to "x"`,
  );
});

test('names changes of the pool when others changed nothing', async () => {
  const { message, next, asked } = await contested([own]);
  assert.deepEqual(
    [message, next, asked],
    [limit, "wait a minute, and find out what keeps changing the pool or the node's labels", []],
  );
});

test('leaves out an unreadable field manager, and rethrows bugs', async () => {
  const failing = (error: Error) => {
    const fieldManager = async () => {
      throw error;
    };
    return { nodes: { fieldManager } } as unknown as ClusterPort;
  };
  const refused = await limitError('n1', [label], true, failing(new NodepoolError('cluster', 'forbidden')));
  assert.equal(refused.message, `${limit}: something else keeps changing label tier from "gold" to "theirs"`);
  await assert.rejects(limitError('n1', [label], true, failing(new TypeError('a bug'))), TypeError);
});
