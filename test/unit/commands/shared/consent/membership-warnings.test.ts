import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readPolicies } from '../../../../../src/cli/manifests.ts';
import {
  deletingWarning,
  readProtection,
  warnOfKubelets,
  warnOfOthersKeys,
} from '../../../../../src/commands/shared/consent/membership-warnings.ts';
import type { RawPool } from '../../../../../src/kube/cluster.ts';
import type { ManifestObject } from '../../../../../src/kube/resources/manifests.ts';
import { ForbiddenError, warningText } from '../../../../../src/nodepool/errors.ts';
import { testIo } from '../../../cli/test-io.ts';
import { aPool, taint } from '../../../nodepool/fixtures.ts';

test('warns once for each provider whose keys a pool sets', async () => {
  const io = testIo();
  const labels = { 'karpenter.sh/a': '', 'karpenter.sh/b': '', 'cloud.google.com/x': '', tier: 'gold' };
  await warnOfOthersKeys([aPool({ labels }, { name: 'web' }), aPool({})], io, undefined);
  const end = 'also sets it: the last writer wins; next: use a key of your own';
  assert.deepEqual(io.stderrText().trimEnd().split('\n'), [
    `warning: pool web sets cloud.google.com/x, but GKE ${end}`,
    `warning: pool web sets karpenter.sh/a, karpenter.sh/b, but Karpenter ${end}`,
  ]);
});

test('warns about keys of --transient-keys', async () => {
  const io = testIo();
  const pool = aPool({ taints: [taint('acme.io/boot:NoSchedule')], labels: { tier: 'gold' } }, { name: 'web' });
  await warnOfOthersKeys([pool], io, ['acme.io/*']);
  assert.match(
    io.stderrText(),
    /^warning: pool web sets the taint acme\.io\/boot \(other software sets it to describe a changing state/,
  );
});

test('warns about transient labels and taints, and suggests startup taints', async () => {
  const io = testIo();
  const spec = {
    labels: { 'nvidia.com/gpu-driver-upgrade-state': 'done' },
    taints: ['karpenter.sh/disrupted:NoSchedule', 'ebs.csi.aws.com/agent-not-ready:NoSchedule'].map(taint),
    startupTaints: ['node.cilium.io/agent-not-ready:NoExecute', 'medik8s.io/drain:NoSchedule'].map(taint),
  };
  await warnOfOthersKeys([aPool(spec, { name: 'web' })], io, undefined);
  const text = 'nodes get it once, when they register; next:';
  assert.deepEqual(io.stderrText().trimEnd().split('\n'), [
    `warning: pool web sets the label nvidia.com/gpu-driver-upgrade-state (NVIDIA GPU Operator sets it while the node is updated or under maintenance): ${text} remove it from the pool`,
    `warning: pool web sets the taint karpenter.sh/disrupted (Karpenter sets it before the node is removed): ${text} remove it from the pool`,
    `warning: pool web sets the taint ebs.csi.aws.com/agent-not-ready (AWS EBS CSI driver sets it until an agent on the node is ready): ${text} use spec.startupTaints, or remove it from the pool`,
    'warning: pool web sets the taint medik8s.io/drain (Node Maintenance Operator (medik8s) sets it while the node is updated or under maintenance) on new nodes; next: remove it from spec.startupTaints',
  ]);
});

test('warns about a pool that is being deleted', () => {
  assert.equal(deletingWarning(aPool({})), undefined);
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  assert.match(
    warningText(deletingWarning(aPool({}, { deletionTimestamp })) ?? ''),
    /^pool worker is being deleted since 2026-01-01T00:00:00Z: its nodes are released, .*; next: .*delete worker`$/,
  );
});

const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url));
const { objects } = await readPolicies(ROOT);

/** What the server adds. */
const DEFAULTS = { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} };

test('warns about kubelets unless the admission policy stops them, and asks only then', async () => {
  const risky = aPool({ nodeSelector: { grp: 'a' }, taints: [{ key: 'k', effect: 'NoSchedule' }] });
  const registers = aPool({ nodeSelector: { grp: 'a' }, labels: { 'kubernetes.io/role': 'x' } });
  const forbidden = new ForbiddenError('may not', []);
  let asked = 0;
  let pools: RawPool[] = [];
  /** @param changes of the specs by kind; undefined: the object is missing */
  const warn = async (pool: typeof risky, changes: Record<string, object | undefined> = {}) => {
    const io = testIo();
    const get = async ({ kind, metadata: { name } }: ManifestObject) => {
      asked += 1;
      const live = objects.find(each => each.kind === kind && each.metadata.name === name) ?? assert.fail();
      const { matchConstraints } = live.spec as { matchConstraints?: object };
      const defaults = matchConstraints && { matchConstraints: { ...matchConstraints, ...DEFAULTS } };
      const change = changes[kind];
      if (change instanceof Error) throw change;
      if (Object.hasOwn(changes, kind) && change === undefined) return undefined;
      return { ...live, status: {}, spec: { ...(live.spec as object), ...defaults, ...change } };
    };
    const connection = { manifests: { get } as never, cluster: { pools: { list: async () => pools } } };
    await warnOfKubelets([pool], readProtection([pool], connection, { root: ROOT }), io);
    const lines = io
      .stderrText()
      .split('\n')
      .filter(line => line !== '');
    return lines.map(line => /leave the pool|register a new node/.exec(line)?.[0]);
  };
  assert.deepEqual(await warn(risky), []);
  assert.deepEqual(await warn(registers), ['register a new node']);
  assert.equal(asked, 8);
  const policy = 'ValidatingAdmissionPolicy';
  const binding = 'ValidatingAdmissionPolicyBinding';
  const excluding = { excludeResourceRules: [{ apiGroups: [''], resources: ['nodes'] }] };
  for (const changes of [
    { [binding]: undefined },
    { [policy]: undefined },
    { [binding]: { validationActions: ['Audit'] } },
    { [binding]: { policyName: 'other' } },
    { [binding]: { matchResources: excluding } },
    { [binding]: { paramRef: { selector: { matchLabels: { a: 'b' } }, parameterNotFoundAction: 'Allow' } } },
    { [policy]: { validations: [{ expression: 'true' }] } },
    { [binding]: forbidden },
    { [policy]: forbidden },
  ]) {
    assert.deepEqual(await warn(risky, changes), ['leave the pool'], JSON.stringify(changes));
  }
  const [none, other] = [{ [binding]: undefined }, { ...risky, metadata: { ...risky.metadata, name: 'other' } }];
  pools = [risky] as RawPool[];
  assert.deepEqual(await warn(risky, none), ['leave the pool'], 'the pool itself');
  pools = [risky, other] as RawPool[];
  assert.deepEqual(await warn(risky, none), [], 'it was said of another pool');
  const before = asked;
  assert.deepEqual(await warn(aPool({ labels: { a: 'b' } })), []);
  assert.equal(asked, before);
});
