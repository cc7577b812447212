/** Keys that act on a node where one is selected or shown, and on the pool elsewhere. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { Desk, fixture, node, pool, role } from './fixture.ts';

test('D drains the selected pool, or the selected or displayed node', () => {
  const drained = (...keys: string[]) => new Desk().type(...keys, 'D').effects.at(-1);
  const target = (of: string, name?: string) => ({ kind: 'command', command: 'drain', pool: of, node: name });
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

test('d and y apply to the selected or displayed node', () => {
  const read = (kind: string, of: string, subject: string) => ({ kind: 'read', place: { kind, pool: of, subject } });
  for (const keys of [['enter'], ['enter', 'enter']]) {
    assert.deepEqual(new Desk().type(...keys, 'd').effects, [read('describe', 'gpu', 'gpu-1')]);
    assert.deepEqual(new Desk().type(...keys, 'y').effects, [read('yaml', 'gpu', 'gpu-1')]);
    const both = new Desk().type(...keys, 'd', 'y');
    assert.deepEqual(both.effects[1], read('yaml', 'gpu', 'gpu-1'));
    assert.match(both.type('q').text(), /^Pools > gpu > gpu-1 > Describe$/m);
  }
  assert.deepEqual(new Desk().type('G', 'enter', 'd').effects, [read('describe', '<none>', 'other')]);
});

test('c and u apply to a selected or described node, and are pool commands elsewhere', () => {
  assert.match(new Desk().type('enter', 'y', 'c').text(), /^Cordon node gpu-1\?/m);
  const effect = (command: string, of: string) => ({ kind: 'command', command, pool: of, node: undefined });
  assert.deepEqual(new Desk().type('d', 'u').effects.at(-1), effect('uncordon', 'gpu'));
  assert.deepEqual(new Desk().type('j', 'j', 'c').effects, [effect('cordon', 'worker')]);
  const none = new Desk().type('G', 'c');
  assert.match(none.text(), /^<none> is not a pool/m);
  assert.deepEqual(none.effects, []);
});

test('p, w, = and r apply to the node or the pool', () => {
  const last = (...keys: string[]) => new Desk().type(...keys).effects.at(-1);
  const read = (kind: string, of?: string, subject?: string) => ({ kind: 'read', place: { kind, pool: of, subject } });
  assert.deepEqual(last('p'), read('pods', 'gpu'));
  assert.deepEqual(last('enter', 'p'), read('pods', 'gpu', 'gpu-1'));
  assert.deepEqual(last('G', 'p'), read('pods', '<none>'));
  assert.deepEqual(last('enter', 'j', 'w'), read('why', 'gpu', 'gpu-2'));
  assert.match(new Desk().type('w').text(), /^w says why a node is in its pool: select a node first$/m);
  for (const keys of [[], ['enter'], ['enter', 'enter']]) {
    assert.deepEqual(last(...keys, '='), read('diff', 'gpu'));
    assert.deepEqual(last(...keys, 'r'), { kind: 'command', command: 'reconcile', pool: 'gpu', node: undefined });
  }
  assert.match(new Desk().type('G', 'r').text(), /^<none> is not a pool/m);
  // Where the text is shown, it is read again.
  const again = new Desk().type('=', '=');
  assert.deepEqual([again.effects.length, again.state.places.length], [2, 2]);
});

test(':nodes, :pods, :events and :pools open lists of all pools, unless an object has that name', () => {
  const desk = new Desk().type('j', 'j', 'enter', ':', ...'nodes', 'enter');
  assert.match(desk.text(), /^Pools > Nodes \(6\)\n NAME↑ +POOL +STATUS[\s\S]*^ worker-1 +worker +Ready/m);
  assert.deepEqual(desk.type('r').effects, [{ kind: 'command', command: 'reconcile', pool: 'gpu', node: undefined }]);
  assert.match(desk.type('escape').text(), /^Pools \(3\)$/m);
  const pods = new Desk().type(':', ...'pods', 'enter');
  assert.deepEqual(pods.effects, [{ kind: 'read', place: { kind: 'pods', pool: undefined, subject: undefined } }]);
  assert.match(pods.text(), /^Pools > Pods$/m);
  assert.match(new Desk().type(':', ...'events', 'enter').text(), /^Pools > Events \(3\)$/m);
  assert.match(new Desk().type('enter', ':', ...'pools', 'enter').text(), /^Pools \(3\)$/m);
  assert.match(new Desk().type(':').text(), /^:█ {2}pools {2}nodes {2}pods {2}events$/m);
  const named = {
    ...fixture(),
    clusterState: new ClusterState([pool('nodes', 200)], [node('a', { labels: role('nodes') })], []),
  };
  assert.match(new Desk(named).type(':', ...'nodes', 'enter').text(), /^>nodes /m);
});

test('t, V and W explain why they do nothing', () => {
  const text = new Desk().type('y', 't');
  assert.match(text.text(), /^t shows usage in the lists of pools and nodes: q goes back$/m);
  assert.equal(text.state.usage, false);
  assert.match(new Desk().type('V').text(), /^V sorts by used resources: press t first$/m);
  assert.match(new Desk().type('t', 'W').text(), /^W sorts by used resources, which are unknown: metrics\.k8s\.io /m);
});
