import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unreadText, withSetters } from '../../../../../src/commands/shared/changes/drift-setters.ts';
import { NodepoolError } from '../../../../../src/nodepool/errors.ts';
import type { Change } from '../../../../../src/nodepool/plan/plan.ts';
import { aNode, recordOf } from '../../../nodepool/fixtures.ts';

const drift: Change = { kind: 'label', key: 'tier', action: 'change', from: 'x', to: 'y', reason: 'drift' };
const setBy = { manager: 'kubectl-label', operation: 'Update', time: '2026-11-21T08:57:00Z' };
const planned = (name: string, ...changes: Change[]) => ({ node: aNode({ name }), changes, owner: 'gpu' });

test('reads fields that differ from what the pool set, and adds who set them', async () => {
  const asked: unknown[] = [];
  const unmanaged: Change = {
    kind: 'taint',
    key: 't',
    effect: 'NoExecute',
    action: 'remove',
    from: '',
    reason: 'unmanaged',
  };
  const gone: Change = { kind: 'label', key: 'gone', action: 'add', to: 'y', reason: 'drift' };
  const spec: Change = { ...drift, key: 'spec', reason: 'spec' };
  const all = [planned('a', gone, drift, unmanaged, spec), planned('b', gone, spec)];
  const result = await withSetters(all, {
    fieldSetters: async (name, paths) => {
      asked.push([name, paths]);
      return [setBy, undefined];
    },
  });
  const paths = [
    ['metadata', 'labels', 'tier'],
    ['spec', 'taints'],
  ];
  assert.deepEqual(asked, [['a', paths]]);
  assert.deepEqual(result, { planned: [planned('a', gone, { ...drift, setBy }, unmanaged, spec), all[1]], unread: 0 });
});

test('names who set a value that differs from the record, even after a spec change', async () => {
  const label: Change = { kind: 'label', key: 'tier', action: 'change', from: 'mine', to: 'new', reason: 'spec' };
  const taint: Change = { ...label, kind: 'taint', key: 't', effect: 'NoSchedule' };
  const note: Change = { ...label, kind: 'annotation', key: 'note' };
  const changes = [label, { ...label, key: 'ours' }, { ...label, key: 'unrecorded' }, taint, note];
  const record = recordOf({
    pool: 'gpu',
    labels: { tier: 'old', ours: 'mine' },
    taints: { 't:NoSchedule': 'old' },
    annotations: { note: 'old' },
  });
  const asked: unknown[] = [];
  const fieldSetters = async (_name: string, paths: string[][]) => {
    asked.push(...paths);
    return [setBy, setBy, setBy];
  };
  const { planned } = await withSetters([{ node: aNode({ record }), changes }], { fieldSetters });
  assert.deepEqual(asked, [
    ['metadata', 'labels', 'tier'],
    ['spec', 'taints'],
    ['metadata', 'annotations', 'note'],
  ]);
  assert.deepEqual(
    planned[0]?.changes.map(change => change.setBy),
    [setBy, undefined, undefined, setBy, setBy],
  );
});

test('names nobody if a node is gone or cannot be read, and rethrows bugs', async () => {
  const refused = async () => {
    throw new NodepoolError('cluster', 'no');
  };
  for (const fieldSetters of [async () => undefined, refused]) {
    assert.deepEqual((await withSetters([planned('a', drift)], { fieldSetters })).planned, [planned('a', drift)]);
  }
  const bug = async () => {
    throw new TypeError('bug');
  };
  await assert.rejects(withSetters([planned('a', drift)], { fieldSetters: bug }), TypeError);
});

test('reads at most 50 nodes, and counts the others', async () => {
  let reads = 0;
  const fieldSetters = async () => {
    reads += 1;
    return [setBy];
  };
  const many = Array.from({ length: 60 }, (_, index) => planned(`n${index}`, drift));
  const result = await withSetters([planned('calm'), ...many], { fieldSetters });
  assert.deepEqual([reads, result.unread, result.planned.length], [50, 10, 61]);
  assert.deepEqual(result.planned.at(-1), planned('n59', drift));
  assert.equal(unreadText(10), 'who set the values is shown for 50 nodes, not for 10 more');
});
