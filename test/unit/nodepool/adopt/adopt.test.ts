import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type AdoptFacts, findCandidates, withOverlaps } from '../../../../src/nodepool/adopt/adopt.ts';
import { validatePool } from '../../../../src/nodepool/spec/validation.ts';
import type { Node, Taint } from '../../../../src/nodepool/types.ts';
import { aNode, taint } from '../fixtures.ts';

/** A node with the labels that a cloud's kubelet sets, and others. */
function node(name: string, labels: Record<string, string>, taints: Taint[] = []): Node {
  const own = {
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'topology.kubernetes.io/zone': 'a',
    'node.kubernetes.io/instance-type': 'm5.large',
  };
  return aNode({ name, labels: { ...own, ...labels }, taints });
}

function find(nodes: Node[], more: Partial<AdoptFacts> = {}) {
  return withOverlaps(
    findCandidates({ nodes, annotations: [], pools: [], ownerOf: () => undefined, labels: [], ...more }),
  );
}

/** `provider label=value pool nodes state` of each. */
function lines(nodes: Node[], more: Partial<AdoptFacts> = {}): string[] {
  return find(nodes, more).map(({ provider, label, value, nodes: members, pool, state }) => {
    const overlap = state.kind === 'overlap' ? `:${state.pools.join()}` : '';
    const names = members.map(({ name }) => name).join();
    return `${provider} ${label}=${value} ${pool.metadata.name} ${names} ${state.kind}${overlap}`;
  });
}

const EKS = 'eks.amazonaws.com/nodegroup';
const EKSCTL = 'alpha.eksctl.io/nodegroup-name';
const role = (name: string) => `node-role.kubernetes.io/${name}`;

describe('candidates for pools', () => {
  const clouds: [provider: string, label: string][] = [
    ['EKS', EKS],
    ['EKS', EKSCTL],
    ['GKE', 'cloud.google.com/gke-nodepool'],
    ['AKS', 'kubernetes.azure.com/agentpool'],
    ['AKS', 'agentpool'],
    ['DOKS', 'doks.digitalocean.com/node-pool'],
    ['Karpenter', 'karpenter.sh/nodepool'],
  ];
  for (const [provider, label] of clouds) {
    test(label, () => {
      const nodes = [node('a', { [label]: 'Sys_1' }), node('b', { [label]: 'Sys_1' }), node('c', {})];
      assert.deepEqual(lines(nodes), [`${provider} ${label}=Sys_1 sys-1 a,b new`]);
      assert.deepEqual(find(nodes)[0]?.pool.spec, { nodeSelector: { [label]: 'Sys_1' } });
    });
  }

  test('finds role labels with any value, and the control plane only on request', () => {
    const nodes = [
      node('a', { [role('web')]: '' }),
      node('b', { [role('web')]: 'true' }),
      node('c', { [role('master')]: '' }),
    ];
    assert.deepEqual(lines(nodes), [`role ${role('web')}= web a new`, `role ${role('web')}=true web-2 b new`]);
    assert.deepEqual(lines(nodes, { labels: [role('master')] }), [`role ${role('master')}= master-nodes c new`]);
  });

  test('groups by a requested label in place of the known ones', () => {
    const nodes = [node('a', { 'x.io/team': 'Ops', [EKS]: 'n' }), node('b', { 'x.io/team': '' })];
    assert.deepEqual(lines(nodes, { labels: ['x.io/team'] }), [
      'label x.io/team= team b new',
      'label x.io/team=Ops ops a new',
    ]);
  });

  test('prefers one of several labels on a node, unless another one finds more nodes', () => {
    const both = node('a', { [EKS]: 'one', [EKSCTL]: 'eksctl-one', [role('worker')]: '' });
    assert.deepEqual(lines([both]), [`EKS ${EKS}=one one a new`]);
    assert.deepEqual(lines([both, node('b', { [EKSCTL]: 'own' })]), [
      `EKS ${EKS}=one one a new`,
      `EKS ${EKSCTL}=own own b new`,
    ]);
    assert.deepEqual(lines([both, node('b', { [role('worker')]: '' })]), [
      `EKS ${EKS}=one one a new`,
      `role ${role('worker')}= worker a,b overlap:one`,
    ]);
  });

  test('reports an overlap of two roles on one node, and prefers neither', () => {
    const nodes = [node('a', { [role('worker')]: '', [role('infra')]: '' }), node('b', { [role('worker')]: '' })];
    assert.deepEqual(lines(nodes), [
      `role ${role('infra')}= infra a overlap:worker`,
      `role ${role('worker')}= worker a,b overlap:infra`,
    ]);
    const [, worker] = findCandidates({ nodes, annotations: [], pools: [], ownerOf: () => undefined, labels: [] });
    assert.equal(worker && withOverlaps([worker])[0]?.state.kind, 'new', 'alone it can be');
  });

  test('recognises pools that own the nodes, pools that overlap, and names in use', () => {
    const nodes = [
      node('a', { [EKS]: 'one' }),
      node('b', { [EKS]: 'two' }),
      node('c', { [EKS]: 'two' }),
      node('d', { [EKS]: 'x' }),
    ];
    const owners: Record<string, string> = { a: 'mine', b: 'other' };
    assert.deepEqual(lines(nodes, { pools: ['mine', 'other', 'x'], ownerOf: ({ name }) => owners[name] }), [
      `EKS ${EKS}=one mine a adopted`,
      `EKS ${EKS}=two two b,c overlap:other`,
      `EKS ${EKS}=x x-2 d new`,
    ]);
  });
});

test('proposes no pool with the name of a node', () => {
  const nodes = [node('db', { [EKS]: 'DB' }), node('db-2', { [EKS]: 'DB' }), node('web', { [EKS]: 'web-1' })];
  assert.deepEqual(lines(nodes), [`EKS ${EKS}=DB db-3 db,db-2 new`, `EKS ${EKS}=web-1 web-1 web new`]);
  const owned = { pools: ['db'], ownerOf: ({ name }: Node) => (name === 'web' ? undefined : 'db') };
  assert.deepEqual(lines(nodes, owned)[0], `EKS ${EKS}=DB db db,db-2 adopted`);
});

test('does not treat a pool that has other nodes as already adopted', () => {
  const nodes = [node('a', { [EKS]: 'one' }), node('b', {})];
  assert.deepEqual(lines(nodes, { ownerOf: () => 'all' }), [`EKS ${EKS}=one one a overlap:all`]);
});

test('generates valid and unique names', () => {
  const long = 'x'.repeat(63);
  const values = ['A.b', 'a-b', 'a_b', 'a__b', 'Control-Plane', 'master', long, long.toUpperCase()];
  const nodes = values.map((value, at) => node(`n${at}`, { [EKS]: value }));
  const found = find(nodes);
  for (const { pool } of found) assert.deepEqual(validatePool(pool), []);
  assert.deepEqual(found.map(({ pool }) => pool.metadata.name).toSorted(), [
    'a-b',
    'a-b-2',
    'a-b-3',
    'a-b-4',
    'control-plane-nodes',
    'master-nodes',
    `${'x'.repeat(61)}-2`,
    long,
  ]);
});

describe('labels and taints of an adopted pool', () => {
  const spec = (nodes: Node[], pool = 'one') => find(nodes).find(({ value }) => value === pool)?.pool.spec;
  const one = (name: string, labels = {}, taints: Taint[] = []) => node(name, { [EKS]: 'one', ...labels }, taints);

  test('adopts labels and taints that all members have with one value', () => {
    const nodes = [
      one('a', { tier: 'gold', 'x.io/a': '1', only: 'a' }, [taint('gpu=yes:NoSchedule'), taint('b:NoExecute')]),
      one('b', { tier: 'gold', 'x.io/a': '2' }, [
        taint('b=1:NoExecute'),
        { ...taint('gpu=yes:NoSchedule'), timeAdded: 'x' },
      ]),
    ];
    assert.deepEqual(spec(nodes), {
      labels: { tier: 'gold' },
      nodeSelector: { [EKS]: 'one' },
      taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }],
    });
  });

  test('leaves out keys that vary within any pool, as a pool of one node shows no variation', () => {
    const other = (name: string, rack: string, taints: Taint[] = []) => node(name, { [EKS]: 'two', rack }, taints);
    const single = one('a', { rack: 'r1', tier: 'gold' }, [taint('spare:NoSchedule'), taint('gpu:NoSchedule')]);
    assert.deepEqual(spec([single])?.labels, { rack: 'r1', tier: 'gold' });
    const nodes = [single, other('b', 'r2', [taint('spare:NoSchedule')]), other('c', 'r3')];
    assert.deepEqual(spec(nodes)?.labels, { tier: 'gold' });
    assert.deepEqual(spec(nodes)?.taints, [taint('gpu:NoSchedule')]);
  });

  test('ignores overlapping groups when it looks for keys that vary', () => {
    const worker = { [role('worker')]: '' };
    const nodes = [
      one('a', { ...worker, tier: 'gold' }, [taint('gpu:NoSchedule')]),
      node('b', { [EKS]: 'two', ...worker, tier: 'base' }),
      node('c', worker),
    ];
    assert.deepEqual(lines(nodes).at(-1), `role ${role('worker')}= worker a,b,c overlap:one,two`);
    assert.deepEqual(spec(nodes)?.labels, { tier: 'gold' });
    assert.deepEqual(spec(nodes)?.taints, [taint('gpu:NoSchedule')]);
    assert.deepEqual(spec(nodes, 'two')?.labels, { tier: 'base' });
  });

  test("leaves out the node's name and labels of Kubernetes, clouds and agents", () => {
    const labels = {
      name: 'a',
      agentpool: 'x',
      'nvidia.com/gpu.product': 'A100',
      'feature.node.kubernetes.io/pci': 'true',
      'beta.kubernetes.io/arch': 'amd64',
      [role('web')]: '',
      'topology.ebs.csi.aws.com/zone': 'z',
      'cpu-feature.node.kubevirt.io/avx': 'true',
      'notkubernetes.io/kept': 'yes',
      'node-restriction.kubernetes.io/kept': 'yes',
    };
    assert.deepEqual(spec([one('a', labels)])?.labels, {
      'node-restriction.kubernetes.io/kept': 'yes',
      'notkubernetes.io/kept': 'yes',
    });
  });

  test('leaves out temporary taints', () => {
    const passing = [
      'node.kubernetes.io/not-ready:NoSchedule',
      'node.kubernetes.io/unschedulable:NoSchedule',
      'node.kubernetes.io/out-of-service=x:NoExecute',
      'node.cloudprovider.kubernetes.io/uninitialized:NoSchedule',
      'ToBeDeletedByClusterAutoscaler=1:NoSchedule',
      'DeletionCandidateOfClusterAutoscaler=1:PreferNoSchedule',
      'karpenter.sh/disrupted:NoSchedule',
      'ebs.csi.aws.com/agent-not-ready:NoExecute',
      'aws-node-termination-handler/spot-itn:NoSchedule',
      'cloud.google.com/impending-node-termination:NoSchedule',
      'startup-taint.cluster-autoscaler.kubernetes.io/driver:NoSchedule',
      'remediator.kubernetes.azure.com/unschedulable:NoSchedule',
      'UpdateInProgress:PreferNoSchedule',
      'weave.works/kured-node-reboot:PreferNoSchedule',
      'node.cluster.x-k8s.io/outdated-revision:PreferNoSchedule',
      'deployment.machine.sapcloud.io/prefer-no-schedule:PreferNoSchedule',
      'medik8s.io/drain:NoSchedule',
      'kubevirt.io/drain:NoSchedule',
      'readiness.k8s.io/network:NoSchedule',
      'boot.example.com/agent:NoExecute',
    ].map(taint);
    const kept = ['kubernetes.azure.com/scalesetpriority=spot:NoSchedule', 'CriticalAddonsOnly=true:NoSchedule'].map(
      taint,
    );
    const [found] = find([one('a', { 'boot.example.com/phase': '1' }, [...passing, ...kept])], {
      transient: ['boot.example.com/*'],
    });
    assert.deepEqual([found?.pool.spec.taints, found?.pool.spec.labels], [kept, undefined]);
  });

  test('adopts no more keys than a pool may have', () => {
    const many = Object.fromEntries(Array.from({ length: 120 }, (_, at) => [`k${at}`, 'v']));
    const taints = Array.from({ length: 120 }, (_, at) => taint(`k${at}:NoSchedule`));
    const [found] = find([one('a', many, taints)]);
    assert.ok(found);
    assert.deepEqual(validatePool(found.pool), []);
    assert.equal(Object.keys(found.pool.spec.labels ?? {}).length, 100);
  });
});
