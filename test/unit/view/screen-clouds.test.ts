/** Screens of three sizes with the names that EKS and GKE give to nodes: UPDATE_SCREENS=1 npm test -- screen-clouds */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { EKS, GKE } from '../../cloud-names.ts';
import { Desk, fixture, node, pool, role } from './fixture.ts';

const TAINT = { key: 'dedicated', value: 'payments', effect: 'NoSchedule' } as const;
const SCREENS: readonly string[][] = [
  [],
  ['enter'],
  ['j', 'enter'],
  [':', ...'nodes', 'enter'],
  ['j', 'enter', 'j', 'c'],
  ['?'],
];

function cloudNodes(names: readonly string[], of: string, region: string) {
  return names.map((name, i) =>
    node(name, {
      labels: {
        ...role(of),
        'topology.kubernetes.io/zone': `${region}${'abc'[i % 3]}`,
        'node.kubernetes.io/instance-type': 'm5.2xlarge',
      },
      taints: i === 2 ? [TAINT] : [],
      unschedulable: i === 3,
      ready: i !== 4,
    }),
  );
}

for (const [columns, rows] of [
  [80, 24],
  [120, 40],
  [200, 50],
] as const) {
  test(`names of clouds at ${columns}x${rows}`, () => {
    const nodes = [...cloudNodes(EKS, 'frontend', 'eu-west-1'), ...cloudNodes(GKE, 'backend', 'europe-west4')];
    const clusterState = new ClusterState([pool('frontend', 200), pool('backend', 200)], nodes, []);
    const screens = SCREENS.map(keys =>
      new Desk({ ...fixture(), clusterState }, { columns, rows })
        .type(...keys)
        .text()
        .replaceAll(/\n{3,}/g, '\n\n'),
    );
    const file = new URL(`./screens/clouds-${columns}x${rows}.txt`, import.meta.url);
    const actual = screens.join(`${'='.repeat(columns)}\n`);
    if (process.env.UPDATE_SCREENS) writeFileSync(file, actual);
    assert.equal(actual, readFileSync(file, 'utf8'));
  });
}
