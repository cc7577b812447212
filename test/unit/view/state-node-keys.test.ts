/** Keys that act on a node where one is selected or shown, and on the pool elsewhere. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Desk } from './fixture.ts';

test('D drains the selected pool, or the node that is selected or shown', () => {
  const drained = (...keys: string[]) => new Desk().type(...keys, 'D').effects.at(-1);
  const target = (pool: string, node?: string) => ({ kind: 'drain', target: { pool, node } });
  assert.deepEqual(drained(), target('gpu'));
  assert.deepEqual(drained('d'), target('gpu'));
  assert.deepEqual(drained('enter', 'j'), target('gpu', 'gpu-2'));
  assert.deepEqual(drained('j', 'j', 'enter', 'enter'), target('worker', 'worker-1'));
  assert.deepEqual(drained('j', 'j', 'enter', 'd'), target('worker', 'worker-1'));
  // Among the nodes that match spare, and that another pool holds.
  assert.deepEqual(drained('j', 'enter'), target('gpu', 'gpu-1'));
  assert.equal(drained('enter', '/', ...'nothing', 'enter'), undefined);
  assert.match(new Desk().type('G', 'enter', 'D').text(), /^Node other is in no pool: drain it with kubectl drain$/m);
});

test('d and y of a node, selected or shown, are about the node', () => {
  const read = (kind: string, pool: string, subject: string) => ({ kind: 'read', place: { kind, pool, subject } });
  for (const keys of [['enter'], ['enter', 'enter']]) {
    assert.deepEqual(new Desk().type(...keys, 'd').effects, [read('describe', 'gpu', 'gpu-1')]);
    assert.deepEqual(new Desk().type(...keys, 'y').effects, [read('yaml', 'gpu', 'gpu-1')]);
    const both = new Desk().type(...keys, 'd', 'y');
    assert.deepEqual(both.effects[1], read('yaml', 'gpu', 'gpu-1'));
    assert.match(both.type('q').text(), /^Pools > gpu > gpu-1 > Describe$/m);
  }
  assert.deepEqual(new Desk().type('G', 'enter', 'd').effects, [read('describe', '<none>', 'other')]);
});

test('c and u work where a node is described, and name the command where a pool is', () => {
  const ofNode = new Desk().type('enter', 'y', 'c');
  assert.match(ofNode.text(), /^Cordon node gpu-1\?/m);
  const ofPool = new Desk().type('d', 'u');
  assert.match(ofPool.text(), /^Only nodes can be uncordoned here; the whole pool: kubectl nodepool uncordon gpu$/m);
});

test('t, V and W say why they do nothing', () => {
  const text = new Desk().type('y', 't');
  assert.match(text.text(), /^t shows usage in the lists of pools and nodes: q goes back$/m);
  assert.equal(text.state.usage, false);
  assert.match(new Desk().type('V').text(), /^V sorts by used resources: press t first$/m);
  assert.match(new Desk().type('t', 'W').text(), /^W sorts by used resources, which are not known: metrics\.k8s\.io /m);
});
