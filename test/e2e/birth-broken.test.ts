/** manifests/born-in-pool.yaml never keeps a node from registering, whatever is wrong. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { loadAll } from 'js-yaml';
import type { NodePoolSpec } from '../../src/nodepool/types.ts';
import { installCrd } from '../cluster/crd.ts';
import { before } from '../cluster/minor.ts';
import { nodeObject } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { apply, BIRTH_RECORD, inForce, markOf, POLICY, withoutRules } from './birth.ts';
import { kubeletOf, TAINT } from './kubelet.ts';
import { type LiveNode, taintsOf, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv({ own: true });
const skip = before(36, 'MutatingAdmissionPolicy is not in v1');
const { cluster } = testEnv;
const api = () => raw(cluster());
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.nodes.lailin.xyz';
const POLICIES = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies';
const BINDINGS = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings';

/** As the node would be stored. */
const dryRun = async (labels: Record<string, string>) =>
  (await api().expect('POST', '/api/v1/nodes?dryRun=All', nodeObject({ name: 'n', labels }))) as LiveNode;

test('nodes register despite a policy that fails to evaluate and unvalidated pools', {
  skip,
}, async () => {
  await apply(cluster(), POLICY);
  // The server goes on watching the pools by the old CRD for a while, and drops fields that only the new one has.
  await testEnv.pool('probe', { nodeSelector: { group: 'probe' } });
  await inForce(testEnv, 'probe', { group: 'probe' });
  for (const path of [POLICIES, BINDINGS]) await api().request('DELETE', `${path}/born-in-pool.nodes.lailin.xyz`);
  await eventually('the policy is gone', async () => markOf(await dryRun({ group: 'probe' })) === undefined);
  await withoutRules(testEnv);
  const odd: [string, object][] = [
    ['label-value', { labels: { a: 'not valid', ok: 'x' } }],
    ['label-number', { labels: { a: 3, ok: 'x' } }],
    ['label-object', { labels: { a: {}, ok: 'x' } }],
    ['label-key', { labels: { 'a b': 'x', '"},"x":{': 'x', ok: 'x' } }],
    ['labels-list', { labels: ['a'] }],
    ['taint-twice', { taints: [TAINT, { ...TAINT, value: 'other' }], labels: { ok: 'x' } }],
    ['taint-effect', { taints: [{ key: 'a', effect: 'No' }, TAINT] }],
    ['taint-key', { taints: [{ key: 'a b', effect: 'NoSchedule' }] }],
    ['taint-value', { taints: [{ key: 'a', value: 3, effect: 'NoSchedule' }] }],
    ['taint-text', { taints: ['a'] }],
    ['startup', { startupTaints: [TAINT, { key: 'init', effect: 'NoSchedule', until: { nodeCondition: 'X' } }] }],
    ['startup-both', { taints: [TAINT], startupTaints: [TAINT] }],
    ['annotation-number', { annotations: { a: 3, ok: 'x' } }],
    ['annotation-key', { annotations: { 'a b': '', ok: 'x' } }],
    ['annotation-json', { annotations: { 'scheduler.alpha.kubernetes.io/preferAvoidPods': '{', ok: 'x' } }],
    ['annotation-control', { annotations: { control: 'a\u0001b\u2028', ok: 'x' } }],
    ['annotation-own', { annotations: { [BIRTH_RECORD]: 'x', 'nodes.lailin.xyz/applied': 'x', ok: 'x' } }],
    ['paused', { paused: true, labels: { ok: 'x' } }],
    ['paused-text', { paused: 'yes', labels: { ok: 'x' } }],
    ['operator', { matchExpressions: [{ key: 'group', operator: 'Is', values: ['operator'] }] }],
    ['selector', { nodeSelector: 'x' }],
    ['empty', { nodeSelector: {} }],
  ];
  for (const [name, spec] of odd) {
    await testEnv.pool(`odd-${name}`, { nodeSelector: { group: name }, ...spec } as NodePoolSpec);
  }
  await testEnv.pool('last', { nodeSelector: { group: 'last' } });
  await apply(cluster(), POLICY);
  await inForce(testEnv, 'last', { group: 'last' });
  for (const [name] of odd) {
    const { status, body } = await kubeletOf(cluster(), name).register({ group: name });
    assert.equal(status, 201, `${name}: ${JSON.stringify(body)}`);
  }
  const [startup, twice, json, control] = await Promise.all(
    ['startup', 'taint-twice', 'annotation-json', 'annotation-control'].map(name => testEnv.node(name)),
  );
  assert.deepEqual(startup && taintsOf(startup), ['dedicated=pci:NoSchedule', 'init:NoSchedule']);
  assert.deepEqual((startup && (markOf(startup) as object as { startup: object }))?.startup, {
    'dedicated:NoSchedule': 'pci',
    'init:NoSchedule': '',
  });
  assert.deepEqual(twice && [taintsOf(twice), twice.metadata.labels.ok], [[], undefined], 'its spec is invalid');
  assert.deepEqual([json?.metadata.annotations?.ok, control?.metadata.annotations?.ok], ['x', 'x']);
  assert.equal('control' in (control?.metadata.annotations ?? {}), false);
  assert.equal((await testEnv.node('paused')).metadata.labels.ok, undefined);

  // A policy that fails in each of its parts.
  const [policy] = loadAll(readFileSync(POLICY, 'utf8')) as { metadata: object; spec: Record<string, unknown> }[];
  const body = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'MutatingAdmissionPolicy' };
  const broken: [string, object][] = [
    ['condition', { matchConditions: [{ name: 'a', expression: "object.metadata.labels['none'] == ''" }] }],
    ['variable', { variables: [{ name: 'x', expression: "object.metadata.labels['none']" }] }],
    ['path', {}],
    [
      'cost',
      {
        variables: [
          {
            name: 'x',
            expression:
              '[1,2,3,4,5,6,7,8,9].map(a, [1,2,3,4,5,6,7,8,9].map(b, [1,2,3,4,5,6,7,8,9].map(c, [1,2,3,4,5,6,7,8,9].map(d, [1,2,3,4,5,6,7,8,9].map(e, [1,2,3,4,5,6,7,8,9].map(f, string(a*b*c*d*e*f)))))))',
          },
        ],
      },
    ],
  ];
  for (const [name, change] of broken) {
    const expression =
      name === 'path'
        ? "[JSONPatch{op: 'remove', path: '/spec/none/none'}]"
        : name === 'condition'
          ? "[JSONPatch{op: 'remove', path: '/spec'}]"
          : "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'a': string(variables.x.size())}}]";
    const mutations = [{ patchType: 'JSONPatch', jsonPatch: { expression } }];
    const spec = { ...policy?.spec, matchConditions: undefined, ...change, mutations };
    await api().expect('POST', POLICIES, { ...body, metadata: { name: `broken-${name}` }, spec });
    await api().expect('POST', BINDINGS, {
      ...body,
      kind: 'MutatingAdmissionPolicyBinding',
      metadata: { name: `broken-${name}` },
      spec: { policyName: `broken-${name}`, paramRef: { selector: {}, parameterNotFoundAction: 'Allow' } },
    });
  }
  await eventually('they fail', async () => {
    assert.equal((await api().request('POST', '/api/v1/nodes?dryRun=All', nodeObject({ name: 'x' }))).status, 201);
    const metrics = (await api().expect('GET', '/metrics')) as string;
    return ['variable', 'path', 'cost'].every(name => {
      const line = metrics.split('\n').find(text => text.includes(`policy="broken-${name}"`) && /_total/.test(text));
      return line !== undefined && !line.includes('no_error');
    });
  });
  assert.equal((await kubeletOf(cluster(), 'late').register({ group: 'late' })).status, 201);
  for (const [name] of broken) {
    await api().expect('DELETE', `${POLICIES}/broken-${name}`);
    await api().expect('DELETE', `${BINDINGS}/broken-${name}`);
  }
  await testEnv.clean();
  // Without the CRD.
  await api().expect('DELETE', CRD);
  await eventually('the CRD is gone', async () => {
    assert.equal((await api().request('POST', '/api/v1/nodes?dryRun=All', nodeObject({ name: 'x' }))).status, 201);
    return (await api().request('GET', CRD)).status === 404;
  });
  for (let at = 0; at < 50; at++) await dryRun({ group: 'last' });
  await installCrd(cluster().kubeconfig);
});
