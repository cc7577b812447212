/** Mutating admission policies that revert what a command writes: it reports them and stops. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { mutatingPolicy, mutatingPolicyFor } from '../fault/mutating.ts';
import { poolsWithPods } from './draining.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const pods = poolsWithPods(testEnv);
const api = () => raw(cluster());
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';
const NEXT = /; next: find it with `kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations`/;

/** A policy that keeps spec.unschedulable of nodes with this name prefix at that value. */
function keeping(prefix: string, unschedulable: boolean) {
  const expression = unschedulable
    ? '[JSONPatch{op: "add", path: "/spec/unschedulable", value: true}]'
    : 'has(object.spec.unschedulable) ? [JSONPatch{op: "remove", path: "/spec/unschedulable"}] : []';
  return mutatingPolicy(cluster(), `keeps-${prefix}`, {
    prefix,
    mutation: { patchType: 'JSONPatch', jsonPatch: { expression } },
    probe: {
      node: `${prefix}-a`,
      patch: { spec: { unschedulable: unschedulable ? null : true } },
      isChanged: ({ spec }) => ((spec as { unschedulable?: boolean }).unschedulable === true) === unschedulable,
    },
  });
}

test('cordon, uncordon and drain name the field that a policy reverts, and evict nothing', async t => {
  await testEnv.nodes(
    { name: 'open-a', labels: role('open') },
    { name: 'closed-a', labels: role('closed'), unschedulable: true },
  );
  await testEnv.pool('open');
  await testEnv.pool('closed');
  await pods.pod({ name: 'web', node: 'open-a' });
  const policies = [await keeping('open', false), await keeping('closed', true)];
  for (const policy of policies) t.after(() => policy.end());
  const changed = (node: string, sent: boolean) =>
    `an admission policy or webhook changed node ${node} during the write: spec.unschedulable was sent with value "${sent}" and is "${!sent}"`;

  for (const flags of [[], ['--dry-run=server']]) {
    const cordon = await cliHere(cluster(), ['cordon', 'open', ...flags]);
    assert.deepEqual([cordon.code, cordon.stdout], [1, '']);
    assert.ok(cordon.stderr.includes(`unable to cordon node "open-a": ${changed('open-a', true)}`), cordon.stderr);
    assert.match(cordon.stderr, NEXT);
  }
  const uncordon = await cliHere(cluster(), ['uncordon', 'closed', '--yes']);
  assert.deepEqual([uncordon.code, uncordon.stdout], [1, '']);
  assert.ok(uncordon.stderr.includes(changed('closed-a', false)), uncordon.stderr);
  const drain = await cliHere(cluster(), ['drain', 'open', '--yes', '--timeout=5s']);
  assert.equal(drain.code, 1);
  assert.ok(drain.stderr.includes(changed('open-a', true)), drain.stderr);
  assert.doesNotMatch(drain.stderr, /evict/);
  assert.deepEqual(await pods.names(), ['web']);
});

/** A policy that removes nodeSelector, the label tier of the spec and the annotation note from pools, and keeps the taint. */
function stripping() {
  const expression = `
    (has(object.spec.nodeSelector) ? [JSONPatch{op: "remove", path: "/spec/nodeSelector"}] : []) +
    (has(object.spec.labels) && "tier" in object.spec.labels
      ? [JSONPatch{op: "replace", path: "/spec/labels/tier", value: "theirs"}] : []) +
    (has(object.metadata.annotations) && "note" in object.metadata.annotations
      ? [JSONPatch{op: "remove", path: "/metadata/annotations/note"}] : []) +
    (object.metadata.name == "tainted" && !has(object.spec.taints)
      ? [JSONPatch{op: "add", path: "/spec/taints", value: [{"key": "gold", "effect": "NoSchedule"}]}] : [])`;
  const probe = { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name: 'probe' } };
  return mutatingPolicyFor(cluster(), 'strips', {
    rule: {
      apiGroups: ['nodes.lailin.xyz'],
      apiVersions: ['v1'],
      operations: ['CREATE', 'UPDATE'],
      resources: ['nodepools'],
    },
    condition: 'true',
    mutation: { patchType: 'JSONPatch', jsonPatch: { expression } },
    async isInForce() {
      const body = { ...probe, spec: { nodeSelector: { a: 'b' } } };
      const answer = await api().request('POST', `${POOLS}?dryRun=All`, body);
      return answer.status === 201 && (answer.body as typeof body).spec.nodeSelector === undefined;
    },
  });
}

test('create and edit name the pool field that a policy changed, and write no node', {
  timeout: 120_000,
}, async t => {
  await testEnv.nodes({ name: 'a' }, { name: 'b', labels: role('z') });
  await testEnv.pool('y');
  await testEnv.pool('tainted', { taints: [{ key: 'gold', effect: 'NoSchedule' }] });
  const policy = await stripping();
  t.after(() => policy.end());
  const changed = (pool: string) => `an admission policy or webhook changed pool ${pool} during the write: `;
  const selector = 'spec.nodeSelector[kind] was sent with value "big" and removed';
  const tier = 'spec.labels[tier] was sent with value "ours" and is "theirs"';

  const flags = ['--node-selector', 'kind=big', '--label', 'tier=ours', '--label', 'kept=yes'];
  const tried = await cliHere(cluster(), ['create', 'z', ...flags, '--dry-run=server']);
  assert.deepEqual([tried.code, tried.stdout], [1, '']);
  assert.ok(tried.stderr.startsWith(`error: ${changed('z')}`), tried.stderr);
  const created = await cliHere(cluster(), ['create', 'z', ...flags, '--nodes', 'a', '--reconcile']);
  assert.deepEqual([created.code, created.stdout], [1, '']);
  assert.ok(
    created.stderr.startsWith(`error: created, but ${changed('z')}${tier}, ${selector}; next: `),
    created.stderr,
  );
  assert.match(created.stderr, NEXT);
  assert.ok(await testEnv.getPool('z'));
  for (const name of ['a', 'b']) {
    const { labels } = (await testEnv.node(name)).metadata;
    assert.deepEqual([labels.kind, labels.kept], [undefined, undefined], name);
  }

  const edited = await cliHere(cluster(), ['edit', 'y', '--node-selector', 'kind=big']);
  assert.deepEqual([edited.code, edited.stdout], [1, '']);
  assert.ok(edited.stderr.includes(`\nerror: ${changed('y')}${selector}; next: `), edited.stderr);
  const untainted = await cliHere(cluster(), ['edit', 'tainted', '--taint', 'gold:NoSchedule-']);
  assert.deepEqual([untainted.code, untainted.stdout], [1, '']);
  assert.ok(untainted.stderr.includes('spec.taints[gold:NoSchedule] was added with value ""'), untainted.stderr);

  const editor = `sed -i 's/^  name: tainted$/  name: tainted\\n  annotations: {note: mine}/'`;
  const typed = await cliHere(cluster(), ['edit', 'tainted'], { env: { KUBE_EDITOR: editor } });
  assert.deepEqual([typed.code, typed.stdout], [1, '']);
  assert.match(
    typed.stderr,
    /metadata\.annotations\[note\] was sent with value "mine" and removed; next: find your text in /,
  );
});
