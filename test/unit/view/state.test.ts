import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { placeOf } from '../../../src/view/places.ts';
import { Desk, fixture, node, pool, role } from './fixture.ts';

/** A pool of so many nodes: n00, n01, … */
function many(count: number): Desk {
  const nodes = Array.from({ length: count }, (_, i) =>
    node(`n${String(i).padStart(2, '0')}`, { labels: role('big') }),
  );
  return new Desk({ ...fixture(), clusterState: new ClusterState([pool('big', 200)], nodes, []) }).type('enter');
}

test('moves the cursor by arrows, letters, pages and ends, within the list', () => {
  const desk = many(50);
  const cases: [string[], string][] = [
    [[], 'n00'],
    [['up'], 'n00'],
    [['down', 'j'], 'n02'],
    [['k', 'up'], 'n00'],
    [['pagedown'], 'n17'],
    [['ctrl-f', ' '], 'n49'],
    [['pageup'], 'n32'],
    [['ctrl-b'], 'n15'],
    [['G'], 'n49'],
    [['down'], 'n49'],
    [['g'], 'n00'],
    [['end'], 'n49'],
    [['home'], 'n00'],
  ];
  for (const [keys, selected] of cases) assert.equal(desk.type(...keys).selected, selected, keys.join(' '));
});

test('keeps the selected row on the screen', () => {
  const desk = many(50);
  for (const keys of [['G'], ['k'], ['pageup'], ['pageup'], ['g'], ['j']]) {
    const marked = desk
      .type(...keys)
      .lines()
      .filter(line => line.startsWith('>'));
    assert.deepEqual(
      marked.map(line => line.slice(1, 4)),
      [desk.selected],
      keys.join(),
    );
  }
  desk.type('G').size = { columns: 80, rows: 12 };
  assert.ok(desk.lines().some(line => line.startsWith('>n49')));
});

test('keeps the selected row when others are inserted, and selects the next when it is removed', () => {
  const desk = many(5).type('j', 'j');
  desk.fixture.clusterState.setNode(node('a', { labels: role('big'), resourceVersion: '2' }));
  assert.equal(desk.selected, 'n02');
  desk.fixture.clusterState.removeNode('n02', 'uid-n02');
  assert.equal(desk.selected, 'n03');
  for (const name of ['a', 'n00', 'n01', 'n03', 'n04']) desk.fixture.clusterState.removeNode(name, `uid-${name}`);
  assert.equal(desk.selected, undefined);
  assert.match(desk.text(), /No nodes/);
  assert.deepEqual(desk.type('enter', 'c', 'j').effects, []);
});

test('enter opens, and esc returns to the same row', () => {
  const desk = new Desk().type('j', 'j', 'enter', 'j', 'enter');
  assert.deepEqual([placeOf(desk.state).kind, placeOf(desk.state).subject], ['node', 'worker-2']);
  assert.equal(desk.type('escape').selected, 'worker-2');
  assert.equal(desk.type('left').selected, 'worker');
  assert.equal(desk.type('escape', 'escape').selected, 'worker');
});

test('sorts by the letter of a column, and reverses on the second press', () => {
  const desk = new Desk(fixture(), { columns: 100, rows: 24 });
  const order = () =>
    desk
      .lines()
      .slice(4, 8)
      .map(line => line.slice(1).split(' ', 1)[0])
      .filter(name => name !== '<none>');
  assert.deepEqual(order(), ['gpu', 'spare', 'worker']);
  const cases: [string, string[]][] = [
    ['N', ['worker', 'spare', 'gpu']],
    ['C', ['gpu', 'worker', 'spare']],
    ['C', ['spare', 'worker', 'gpu']],
    ['Z', ['worker', 'gpu', 'spare']],
    ['S', ['spare', 'worker', 'gpu']],
    ['A', ['spare', 'gpu', 'worker']],
    ['A', ['gpu', 'worker', 'spare']],
  ];
  for (const [key, names] of cases) {
    desk.type(key);
    assert.deepEqual(order(), names, key);
  }
  assert.match(desk.lines()[3] ?? '', /↓AGE$/);
});

test('filters while typing, inverts, keeps on enter, clears on esc', () => {
  const desk = new Desk();
  const rows = () => desk.lines().filter(line => /^[> ](gpu|spare|worker) /.test(line)).length;
  assert.equal(desk.type('/', 'q').state.mode.kind, 'filter');
  assert.equal(rows(), 0);
  desk.type('backspace', 'W', 'o');
  assert.equal(rows(), 1);
  assert.equal(desk.type('enter').state.mode.kind, 'browse');
  assert.equal(desk.selected, 'worker');
  assert.match(desk.text(), /Pools \(1 of 3\) {2}\/Wo/);
  desk.type('escape');
  assert.equal(rows(), 3);
  assert.equal(desk.selected, 'worker');
  desk.type('/', ...'!conflict');
  assert.equal(rows(), 2);
  desk.type('ctrl-u');
  assert.equal(rows(), 3);
  desk.type('backspace');
  assert.equal(desk.state.mode.kind, 'browse');
  assert.equal(desk.type('/', 'x', 'escape').state.mode.kind, 'browse');
  assert.equal(rows(), 3);
});

test('pastes into the filter only, and only the first line', () => {
  const desk = new Desk().type('j', 'j', 'enter');
  assert.deepEqual(desk.paste('cyq').effects, []);
  assert.equal(desk.state.mode.kind, 'browse');
  desk.type('/').paste('worker-2\nq');
  assert.equal(placeOf(desk.state).filter, 'worker-2');
});

test('cordon asks with the name of the node, and accepts only y', () => {
  const worker = fixture().clusterState.node('worker-1');
  const target = { node: worker, unschedulable: true };
  const at = () => new Desk().type('j', 'j', 'enter', 'c');
  assert.match(at().text(), /Cordon node worker-1\? .*\ny yes/);
  assert.deepEqual(at().type('y').effects, [{ kind: 'cordon', target }]);
  for (const key of ['n', 'enter', 'escape', 'q', 'c']) {
    const desk = at().type(key);
    assert.deepEqual([desk.effects, desk.state.mode.kind], [[], 'browse'], key);
    assert.match(desk.text(), /Nothing was changed/);
  }
  assert.deepEqual(new Desk().type('j', 'j', 'enter', 'enter', 'c', 'Y').effects, [{ kind: 'cordon', target }]);
});

test(': jumps to a pool or node by prefix, part or similar name', () => {
  const jump = (...keys: string[]) => new Desk().type(':', ...keys);
  const cases: [string, string, string | undefined][] = [
    ['wor', 'worker', undefined],
    ['gpu-2', 'gpu-2', 'gpu'],
    ['er-3', 'worker-3', 'worker'],
    ['workr-2', 'worker-2', 'worker'],
    ['oth', 'other', '<none>'],
  ];
  for (const [text, selected, pool] of cases) {
    const desk = jump(...text, 'enter');
    assert.deepEqual([desk.selected, placeOf(desk.state).pool, desk.state.mode.kind], [selected, pool, 'browse'], text);
  }
  const inNodes = new Desk().type('j', 'enter', ':', ...'worker-3', 'enter');
  assert.deepEqual([inNodes.selected, inNodes.type('q').selected], ['worker-3', 'worker']);
  assert.match(jump(...'worker-').text(), /^:worker-█ {2}worker-1 {2}worker-2 {2}worker-3$/m);
  assert.match(jump('w', 'o', 'tab').text(), /^:worker█/m);
  for (const text of ['q', 'q!', 'quit']) assert.deepEqual(jump(...text, 'enter').effects, [{ kind: 'quit' }], text);
  assert.match(jump(...'zzz', 'enter').text(), /^No pool or node matches "zzz"$/m);
  for (const keys of [['w', 'escape'], ['enter'], ['backspace'], ['w', 'ctrl-u', 'backspace']]) {
    const desk = jump(...keys);
    assert.deepEqual([desk.selected, desk.state.mode.kind], ['gpu', 'browse'], keys.join());
  }
});

test('q goes back, and quits on the list of pools', () => {
  const desk = new Desk().type('j', 'j', 'enter', 'enter', 'q', 'q');
  assert.deepEqual([desk.effects, desk.selected], [[], 'worker']);
  assert.deepEqual(desk.type('q').effects, [{ kind: 'quit' }]);
});

test('uncordon also asks, and neither asks when nothing would change', () => {
  const desk = new Desk().type('enter', 'j', 'u', 'y');
  const node = desk.fixture.clusterState.node('gpu-2');
  assert.ok(node?.unschedulable);
  assert.deepEqual(desk.effects, [{ kind: 'cordon', target: { node, unschedulable: false } }]);
  assert.match(new Desk().type('enter', 'j', 'c').text(), /Node gpu-2 is already cordoned/);
  assert.match(new Desk().type('enter', 'u').text(), /Node gpu-1 is not cordoned/);
  assert.match(new Desk().type('enter', '/', ...'none', 'enter', 'c').text(), /matches the filter/);
});

test('shows events of the selected pool, of all pools, and one event in full', () => {
  const desk = new Desk().type('e');
  assert.match(desk.text(), /Pools > gpu > Events \(1\)/);
  assert.doesNotMatch(desk.text(), /an earlier pool/);
  desk.type('e');
  assert.equal(desk.state.places.length, 2);
  desk.type('enter');
  assert.match(desk.text(), /Message: +2 nodes joined: gpu-1, gpu-2/);
  desk.type('escape', 'escape', 'E');
  assert.match(desk.text(), /Pools > Events \(3\)/);
  assert.match(desk.lines()[4] ?? '', /^>30s x3 +Warning +NodeConflict +spare/);
  assert.match(new Desk().type('enter', 'e').text(), /Pools > gpu > Events/);
});

test('help scrolls, and closes on any other key without another effect', () => {
  const desk = new Desk(fixture(), { columns: 80, rows: 12 }).type('?');
  assert.match(desk.text(), /Help \(lines 1-7 of 19\)/);
  assert.doesNotMatch(desk.text(), /ask first/);
  assert.match(desk.type('j', 'j', 'j', 'j').text(), /cordon, uncordon, drain the node or the pool: ask first/);
  assert.match(desk.type('G').text(), /Help \(lines 13-19 of 19\)[\s\S]*not ready/);
  for (const key of ['q', 'c', 'E', 'S', 'enter', 'escape', '?']) {
    const again = new Desk().type('?', key);
    assert.deepEqual([again.effects, again.state.places.length, again.selected], [[], 1, 'gpu'], key);
  }
  assert.deepEqual(desk.type('q', 'q').effects, [{ kind: 'quit' }]);
  for (const keys of [['ctrl-c'], ['/', 'ctrl-c'], ['?', 'ctrl-c'], ['enter', 'c', 'ctrl-c']]) {
    assert.deepEqual(new Desk().type(...keys).effects, [{ kind: 'quit' }], keys.join(' '));
  }
  assert.deepEqual(new Desk().type('ctrl-l').effects, [{ kind: 'redraw' }]);
});

test('scrolls a text by lines and pages up to its end', () => {
  const desk = new Desk().type('enter', 'enter');
  desk.size = { columns: 30, rows: 12 };
  assert.match(desk.text(), /Name:/);
  assert.match(desk.text(), /Pools …gpu-1 \(lines 1-7 of 19\)/);
  desk.type('G');
  assert.match(desk.text(), /node-role/);
  const { top } = placeOf(desk.state);
  desk.type('down', 'pagedown');
  desk.clampSelection();
  assert.equal(placeOf(desk.state).top, top);
  assert.match(desk.type('g').text(), /Name:/);
});
