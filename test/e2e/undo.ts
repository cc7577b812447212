/** A pool `web` with a history, for tests of `rollout undo`. */
import assert from 'node:assert/strict';
import type { NodePoolSpec } from '../../src/nodepool/types.ts';
import { cliHere } from '../cluster/harness.ts';
import { role, type TestEnv } from './test-env.ts';

export function poolWithHistory(testEnv: TestEnv) {
  const run = (...args: string[]) => cliHere(testEnv.cluster(), ['rollout', ...args]);
  const edit = async (spec: NodePoolSpec | Record<string, unknown>, cause: string | null = null) => {
    await testEnv.edit('web', { metadata: { annotations: { 'kubernetes.io/change-cause': cause } }, spec });
    await testEnv.reconcile();
  };
  const specOf = async () => JSON.stringify((await testEnv.getPool('web'))?.spec);
  const dataOf = async (revision: number) => {
    const found = (await testEnv.revisions()).find(each => each.revision === revision);
    assert.ok(found, `revision ${revision}`);
    return (found.data as { spec: NodePoolSpec }).spec;
  };

  /** Three revisions, the second with a cause. */
  const prepare = async () => {
    await testEnv.nodes(...['a', 'b'].map(name => ({ name, labels: role('web') })));
    await testEnv.pool('web', {
      rollout: {},
      labels: { tier: '1', '9': 'x', a: 'y' },
      annotations: { note: 'first\nline "quoted" <&> ä' },
      taints: [
        { key: 'b', effect: 'NoSchedule' },
        { key: 'a', value: 'v', effect: 'PreferNoSchedule' },
      ],
      startupTaints: [{ key: 's', effect: 'NoSchedule', until: { nodeCondition: 'Ok' } }],
      handler: 'runc',
      unmanaged: 'Keep',
    });
    await testEnv.reconcile();
    await edit({ labels: { tier: '2' }, annotations: null }, 'a better tier');
    await edit({ labels: { tier: '3' }, handler: null, taints: null });
  };
  return { run, edit, specOf, dataOf, prepare };
}
