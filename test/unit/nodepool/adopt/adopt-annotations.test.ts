/** Which annotations of nodes `adopt` takes over: by who set them, by their domain, and by what the group has in common. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findCandidates } from '../../../../src/nodepool/adopt/adopt.ts';
import { readNodeAnnotations } from '../../../../src/nodepool/adopt/adoptable.ts';
import { aNode } from '../fixtures.ts';

type Setters = Record<string, string>;
const COMMAND = 'kubectl-annotate';

/** @param setters the manager of each annotation; empty: none. Default: kubectl-annotate */
function annotated(uid: string, annotations: Record<string, unknown>, setters: Setters = {}, subresource = '') {
  const managedFields = Object.keys(annotations).flatMap(key => {
    const manager = setters[key] ?? COMMAND;
    const fieldsV1 = { 'f:metadata': { 'f:annotations': { '.': {}, [`f:${key}`]: {} } } };
    return manager === '' ? [] : manager.split('+').map(name => ({ manager: name, fieldsV1, subresource }));
  });
  return readNodeAnnotations({ uid, annotations, managedFields });
}

/** The annotations of the proposed pools, by the value of the label team of `TEAM-NODE`. */
function adopted(...annotations: ReturnType<typeof annotated>[]) {
  const nodes = annotations.map(({ uid }) => aNode({ name: uid, uid, labels: { team: uid.split('-')[0] ?? '' } }));
  const found = findCandidates({ nodes, annotations, pools: [], ownerOf: () => undefined, labels: ['team'] });
  return Object.fromEntries(found.map(({ value, pool }) => [value, pool.spec.annotations]));
}

test('takes annotations that commands set on all nodes of the group with the same value', () => {
  const all = { 'example.com/owner': 'team a, b', note: '' };
  const setters = { note: 'kubectl-edit' };
  const pools = adopted(
    annotated('x-1', { ...all, 'x.io/some': '1' }),
    annotated('x-2', { ...all }, setters),
    annotated('y-1', { other: '1' }, { other: 'kubectl-patch' }),
  );
  assert.deepEqual(pools, { x: all, y: { other: '1' } });
});

test('skips annotations that another program or an unknown manager wrote on any node', () => {
  for (const manager of ['agent', 'kubectl', 'kubectl-client-side-apply', 'kubectl-annotate+agent', 'kubectl-x', '']) {
    const theirs = annotated('x-1', { key: '1' }, { key: manager });
    assert.deepEqual(adopted(theirs), { x: undefined }, manager);
    assert.deepEqual(adopted(annotated('x-1', { key: '1' }), annotated('y-1', { key: '2' }, { key: manager })), {
      x: undefined,
      y: undefined,
    });
  }
  assert.deepEqual(adopted(annotated('x-1', { key: '1' }, { key: 'kubelet' }, 'status')), { x: undefined });
});

test('adopts an annotation although a pool sets it on nodes of another group', () => {
  const pools = adopted(
    annotated('x-1', { key: '1' }),
    annotated('y-1', { key: '1' }, { key: 'kubectl-nodepool' }),
    annotated('z-1', { key: '1' }, { key: 'kubectl-nodepool+kubectl-edit' }),
  );
  assert.deepEqual(pools, { x: { key: '1' }, y: undefined, z: undefined });
});

test('skips annotations in a domain with an owner, even when a person set them', () => {
  const keys = [
    'volumes.kubernetes.io/controller-managed-attach-detach',
    'csi.volume.kubernetes.io/nodeid',
    'kubectl.kubernetes.io/last-applied-configuration',
    'cluster-autoscaler.kubernetes.io/scale-down-disabled',
    'nodes.lailin.xyz/applied',
    'cluster.x-k8s.io/machine',
    'container.googleapis.com/instance_id',
    'node.gke.io/last-applied-node-labels',
    'projectcalico.org/IPv4Address',
    'flannel.alpha.coreos.com/backend-type',
    'k8s.ovn.org/node-subnets',
    'machineconfiguration.openshift.io/state',
    'karpenter.sh/do-not-disrupt',
    'weave.works/kured-reboot-in-progress',
  ];
  assert.deepEqual(adopted(annotated('x-1', Object.fromEntries(keys.map(key => [key, '1'])))), { x: undefined });
  assert.deepEqual(adopted(annotated('x-1', { 'mykubernetes.io/a': '1' })), { x: { 'mykubernetes.io/a': '1' } });
});

test('skips annotations that are specific to single nodes', () => {
  assert.deepEqual(adopted(annotated('x-1', { self: 'x-1' })), { x: undefined });
  // In x nobody could tell.
  const rack = (uid: string, value: string) => annotated(uid, { rack: value });
  assert.deepEqual(adopted(rack('x-1', '1'), rack('y-1', '1'), rack('y-2', '2')), { x: undefined, y: undefined });
  const nodes = [aNode({ name: 'a', uid: 'recreated', labels: { team: 'x' } })];
  const annotations = [annotated('a', { note: '1' })];
  const [pool] = findCandidates({ nodes, annotations, pools: [], ownerOf: () => undefined, labels: ['team'] });
  assert.equal(pool?.pool.spec.annotations, undefined);
});

test('adopts at most the number of annotations that a pool may have, and no long ones', () => {
  const many = Object.fromEntries(Array.from({ length: 70 }, (_, at) => [`key-${at}`, '1']));
  assert.equal(Object.keys(adopted(annotated('x-1', many)).x ?? {}).length, 64);
  const long = { a: 'x'.repeat(40_000), b: 'x'.repeat(40_000), c: '1', d: 'é'.repeat(70_000) };
  assert.deepEqual(Object.keys(adopted(annotated('x-1', long)).x ?? {}), ['a', 'c']);
});
