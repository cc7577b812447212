/** The texts: describe, YAML, a node, the help. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { withText } from '../../../src/view/state.ts';
import { Desk, fixture, node, pool, role } from './fixture.ts';

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

test('cuts a long name, but not the line numbers after it', () => {
  const name = 'gke-prod-europe-west4-backend-8f3c1d2e-a1b2';
  const clusterState = new ClusterState([pool('backend', 200)], [node(name, { labels: role('backend') })], []);
  const desk = new Desk({ ...fixture(), clusterState }).type('enter', 'd');
  const place = { kind: 'describe', pool: 'backend', subject: name } as const;
  desk.state = withText(desk.state, place, 'line\n'.repeat(84));
  assert.match(desk.text(), /^Pools > backend > gke-prod-\S*…\S*-a1b2 > Describe \(lines 1-19 of 85\)$/m);
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

test('cuts no title of the details and no line of the help', () => {
  const details = new Desk().type('enter', 'enter');
  assert.match(details.text(), /^Also matched by: {2}spare$/m);
  details.size = { columns: 40, rows: 40 };
  assert.match(details.text(), /^Also matched by:\n {13}spare$/m);
  const help = new Desk(fixture(), { columns: 30, rows: 60 }).type('?');
  assert.doesNotMatch(help.text(), /…/);
});
