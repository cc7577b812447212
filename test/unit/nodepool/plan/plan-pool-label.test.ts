/** The label nodes.lailin.xyz/pool is the program's own: an earlier value belongs to nobody and is never restored. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { strayPoolLabel } from '../../../../src/nodepool/membership/explain.ts';
import { parseRecord } from '../../../../src/nodepool/plan/record.ts';
import { type Node, POOL_LABEL } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf } from '../fixtures.ts';
import { step } from './plan-step.ts';

const by = (name: string, operator = 'Exists') =>
  aPool({ matchExpressions: [{ key: 'size', operator, ...(operator === 'Gt' ? { values: ['4'] } : {}) }] }, { name });
const [big, small] = [by('big', 'Gt'), by('small')];
const plain = aPool({ nodeSelector: { size: '8' } }, { name: 'plain' });
const node = (label?: string, more: Partial<Node> = {}) =>
  aNode({ labels: { size: '8', ...(label === undefined ? {} : { [POOL_LABEL]: label }) }, ...more });

describe('the pool label', () => {
  test('is removed when the node leaves after its record was lost and rewritten', () => {
    const { after } = step(node(), big);
    const { record: _removed, ...lost } = after;
    const again = step(lost, big).after;
    assert.equal(again.record, recordOf({ pool: 'big', generation: 1, labels: { [POOL_LABEL]: 'big' } }));
    const left = step(again, undefined);
    assert.deepEqual(left.after.labels, { size: '8' });
    assert.equal(left.after.record, undefined);
  });

  test('replaces a label that somebody else set, without restoring that value later', () => {
    const { after, said } = step(node('other'), big);
    assert.deepEqual(said, [`change label ${POOL_LABEL} other>big (spec)`]);
    assert.equal(after.record, recordOf({ pool: 'big', generation: 1, labels: { [POOL_LABEL]: 'big' } }));
    assert.deepEqual(step(after, undefined).after.labels, { size: '8' });
  });

  test('changes when the node moves to another pool', () => {
    for (const start of [node(), node('other'), node('small')]) {
      const second = step(step(start, big).after, small).after;
      assert.deepEqual(second.labels, { size: '8', [POOL_LABEL]: 'small' });
      assert.equal(second.record, recordOf({ pool: 'small', generation: 1, labels: { [POOL_LABEL]: 'small' } }));
      assert.deepEqual(step(second, undefined).after.labels, { size: '8' });
      assert.deepEqual(step(second, plain).after.labels, { size: '8' }, 'nor does a pool without expressions keep it');
    }
  });

  test('is removed even if somebody changed it before the node left', () => {
    const { after } = step(node(), big);
    for (const labels of [{ [POOL_LABEL]: 'other' }, { [POOL_LABEL]: 'big' }, { size: '1', [POOL_LABEL]: 'x' }, {}]) {
      const left = step({ ...after, labels }, undefined).after;
      assert.equal(left.labels[POOL_LABEL], undefined);
      assert.equal(left.record, undefined);
    }
  });

  test('is not restored from the displaced values of a record', () => {
    const record = recordOf({
      pool: 'big',
      labels: { [POOL_LABEL]: 'big' },
      displaced: { labels: { [POOL_LABEL]: 'other' } },
    });
    assert.deepEqual(step(node('big', { record }), undefined).after.labels, { size: '8' });
    assert.deepEqual(step(node('big', { record }), small).after.record?.includes('other'), false);
  });

  test('is removed by unmanaged: Remove, and not restored', () => {
    const strip = aPool({ nodeSelector: { size: '8' }, unmanaged: 'Remove' }, { name: 'strip' });
    const { after } = step(node('other'), strip);
    assert.deepEqual(after.labels, { size: '8' });
    assert.equal(step(after, strip).plan.patch, undefined);
    assert.deepEqual(step(after, undefined).after.labels, { size: '8' });
  });

  test('stays on nodes whose pool does not set it', () => {
    assert.equal(step(node('big'), undefined).plan.patch, undefined);
    const { after } = step(node('big'), plain);
    assert.deepEqual(after.labels, { size: '8', [POOL_LABEL]: 'big' });
    assert.deepEqual(step(after, undefined).after.labels, { size: '8', [POOL_LABEL]: 'big' });
  });
});

test('strayPoolLabel() returns a pool label that no pool has set and none will remove', () => {
  const stray = (of: Node, owner?: typeof big) => strayPoolLabel(of, { record: parseRecord(of.record) }, owner);
  const member = step(node(), big).after;
  assert.equal(stray(node()), undefined);
  assert.equal(stray(node('big')), 'big');
  assert.equal(stray(node('big'), plain), 'big');
  assert.equal(stray(step(node('big'), plain).after, plain), 'big');
  assert.equal(stray(node('other'), big), undefined, 'it is about to be replaced');
  assert.equal(stray(node('other'), aPool({ unmanaged: 'Remove' })), undefined, 'it is about to be removed');
  assert.equal(stray(member, big), undefined);
  assert.equal(stray(member, undefined), undefined, 'it is about to be removed');
});
