import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkNames, formerRoles } from '../../../../../src/commands/shared/install/foreign-objects.ts';
import type { ManifestObject } from '../../../../../src/kube/resources/manifests.ts';
import { ForbiddenError } from '../../../../../src/nodepool/errors.ts';

const labels = { 'app.kubernetes.io/name': 'nodepool-controller' };
const role: ManifestObject = { apiVersion: 'rbac/v1', kind: 'ClusterRole', metadata: { name: 'x', labels } };

test('finds ClusterRoles of an earlier version by label, unless they cannot be read', async () => {
  const get = async ({ metadata }: ManifestObject) => ({
    ...role,
    metadata: metadata.name === 'nodepool-view' ? { ...metadata, labels } : metadata,
  });
  assert.deepEqual(await formerRoles([role], { get }), ['nodepool-view']);
  const forbidden = async () => Promise.reject(new ForbiddenError('no', []));
  assert.deepEqual(await formerRoles([role], { get: forbidden }), []);
});

test('names both a foreign API group and remaining ClusterRoles', () => {
  const { status, message, details } = checkNames(['karpenter.sh'], ['nodepool-view']);
  assert.equal(status, 'warning');
  assert.match(message, /^karpenter.sh also serves nodepools/);
  assert.match(
    details.join(),
    /^left over from an earlier version: ClusterRole nodepool-view; bind users .* clusterrole nodepool-view$/,
  );
});
