import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderCandidates } from '../../../../src/commands/adopt/print.ts';
import type { PoolCandidate } from '../../../../src/nodepool/adopt/adopt.ts';
import { colored, makeNode, plain } from '../../print/fixtures.ts';

function candidates(): PoolCandidate[] {
  const pool = (name: string, spec = {}) => ({ apiVersion: 'v1', kind: 'NodePool', metadata: { name }, spec });
  const eks = { provider: 'EKS', label: 'eks.amazonaws.com/nodegroup', rank: 1 };
  const spec = {
    annotations: { 'example.com/owner': 'team a, b', note: '' },
    labels: { tier: 'gold', team: 'a' },
    taints: [
      { key: 'nvidia.com/gpu', value: 'present', effect: 'NoSchedule' as const },
      { key: 'spot', effect: 'NoExecute' as const },
    ],
  };
  return [
    {
      ...eks,
      value: 'gpu',
      nodes: [makeNode('a'), makeNode('b', { ready: false })],
      pool: pool('gpu', spec),
      state: { kind: 'new' },
    },
    { ...eks, value: 'sys', nodes: [makeNode('c')], pool: pool('system'), state: { kind: 'adopted' } },
    {
      provider: 'role',
      label: 'node-role.kubernetes.io/web',
      rank: 7,
      value: '',
      nodes: [makeNode('c')],
      pool: pool('web', { labels: { tier: '\u001b[31mred' } }),
      state: { kind: 'overlap', exist: true, pools: ['db', 'system'] },
    },
  ];
}

test('prints the table', () => {
  assert.equal(
    renderCandidates(candidates(), plain),
    `
POOL     STATE            NODES   READY   PROVIDER   LABEL                         VALUE   LABELS               TAINTS                                 ANNOTATIONS
gpu      new              2       1       EKS        eks.amazonaws.com/nodegroup   gpu     team=a,+1            nvidia.com/gpu=present:NoSchedule,+1   example.com/owner,+1
system   adopted          1       1       EKS        eks.amazonaws.com/nodegroup   sys     <none>               <none>                                 <none>
web      overlaps:db,+1   1       1       role       node-role.kubernetes.io/web   ""      tier=\\u001b[31mred   <none>                                 <none>`.slice(
      1,
    ),
  );
});

test('fits a terminal', () => {
  assert.equal(
    renderCandidates(candidates(), plain, 80),
    `
POOL     STATE            NODES   READY   LABEL                         VALUE …
gpu      new              2       1       eks.amazonaws.com/nodegroup   gpu
system   adopted          1       1       eks.amazonaws.com/nodegroup   sys
web      overlaps:db,+1   1       1       node-role.kubernetes.io/web   ""`.slice(1),
  );
});

test('colours states only', () => {
  const text = renderCandidates(candidates(), colored);
  assert.match(text, /\u001b\[32mnew\u001b\[39m/);
  assert.match(text, /\u001b\[33moverlaps:db,\+1\u001b\[39m/);
  assert.doesNotMatch(text, /\u001b\[31m/);
});
