/** The texts: describe, YAML, a node, the help. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withText } from '../../../src/view/state.ts';
import { Desk, fixture } from './fixture.ts';

test('shows the text of describe and YAML once it is read', () => {
  const desk = new Desk().type('d');
  const place = { kind: 'describe', pool: 'gpu', subject: undefined } as const;
  assert.deepEqual(desk.effects, [{ kind: 'read', place }]);
  assert.match(desk.text(), /^Pools > gpu > Describe\nReading …$/m);
  desk.state = withText(desk.state, place, `Name:  gpu\nLabels:  ${'x'.repeat(100)}`);
  assert.match(desk.text(), /^Name: {2}gpu\nLabels:\n {9}x{71}\n {9}x{29}$/m);
  const yaml = desk.type('y');
  assert.equal(yaml.effects.length, 2);
  assert.match(yaml.text(), /^Pools > gpu > YAML$/m);
  assert.match(yaml.type('q').text(), /^Name: {2}gpu$/m);
  const ofNode = new Desk().type('enter', 'y');
  assert.deepEqual(ofNode.effects, [{ kind: 'read', place: { kind: 'yaml', pool: 'gpu', subject: 'gpu-1' } }]);
});

test('shows a node', () => {
  const lines = new Desk().type('j', 'j', 'enter', 'enter').lines().slice(2, 15);
  assert.deepEqual(
    lines.map(line => line.trimEnd()),
    [
      'Pools > worker > worker-1',
      'Name:         worker-1',
      'Pool:         worker',
      'Status:       Ready',
      'Created:      2026-11-18T12:00:00Z (3d ago)',
      'Changes due:  + label tier=gold',
      'Taints:       dedicated=a:NoSchedule',
      'Allocatable:  cpu: 4',
      '              memory: 16Gi',
      '              pods: 110',
      'Labels:       node-role.kubernetes.io/worker=',
      '',
      '',
    ],
  );
});

test('cuts no title of the details, and no line of the help', () => {
  const details = new Desk().type('enter', 'enter');
  assert.match(details.text(), /^Also matched by: {2}spare$/m);
  details.size = { columns: 40, rows: 40 };
  assert.match(details.text(), /^Also matched by:\n {13}spare$/m);
  const help = new Desk(fixture(), { columns: 30, rows: 60 }).type('?');
  assert.doesNotMatch(help.text(), /…/);
});
