import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  deletingWarning,
  readProtection,
  warnOfKubelets,
  warnOfOthersKeys,
} from '../../../src/cli/membership-warnings.ts';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import { warningText } from '../../../src/nodepool/warning.ts';
import { aPool } from '../nodepool/fixtures.ts';
import { testIo } from './test-io.ts';

test('warns once for each provider whose keys a pool sets', async () => {
  const io = testIo();
  const labels = { 'karpenter.sh/a': '', 'karpenter.sh/b': '', 'cloud.google.com/x': '', tier: 'gold' };
  await warnOfOthersKeys([aPool({ labels }, { name: 'web' }), aPool({})], io);
  const end = 'sets itself: the last writer wins; next: choose a key of your own';
  assert.deepEqual(io.stderrText().trimEnd().split('\n'), [
    `warning: pool web sets cloud.google.com/x, which GKE ${end}`,
    `warning: pool web sets karpenter.sh/a, karpenter.sh/b, which Karpenter ${end}`,
  ]);
});

test('warns about a pool that is being deleted', () => {
  assert.equal(deletingWarning(aPool({})), undefined);
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  assert.match(
    warningText(deletingWarning(aPool({}, { deletionTimestamp })) ?? ''),
    /^nodepool worker is being deleted since 2026-01-01T00:00:00Z: its nodes are released, .*; next: .*delete worker`$/,
  );
});

test('warns of kubelets as far as the admission policy does not stop them, and asks for it only then', async () => {
  const risky = aPool({ nodeSelector: { grp: 'a' }, taints: [{ key: 'k', effect: 'NoSchedule' }] });
  const registers = aPool({ nodeSelector: { grp: 'a' }, labels: { 'kubernetes.io/role': 'x' } });
  const binding = (...validationActions: string[]) => ({ spec: { validationActions } });
  const forbidden = new NodepoolError('cluster', 'may not', undefined, { isForbidden: true });
  let asked = 0;
  const warn = async (pool: typeof risky, answer: object | undefined) => {
    const io = testIo();
    const get = async () => {
      asked += 1;
      if (answer instanceof Error) throw answer;
      return answer;
    };
    await warnOfKubelets([pool], readProtection([pool], { manifests: { get } as never }), io);
    const lines = io
      .stderrText()
      .split('\n')
      .filter(line => line !== '');
    return lines.map(line => /own node to lose|may register/.exec(line)?.[0]);
  };
  assert.deepEqual(await warn(risky, binding('Deny', 'Audit')), []);
  for (const answer of [undefined, binding('Audit'), {}, forbidden]) {
    assert.deepEqual(await warn(risky, answer), ['own node to lose']);
  }
  assert.deepEqual(await warn(registers, binding('Deny')), ['may register']);
  assert.equal(asked, 6);
  assert.deepEqual(await warn(aPool({ labels: { a: 'b' } }), undefined), []);
  assert.equal(asked, 6);
});
