import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noExecuteLog } from '../../../../src/commands/reconcile/watch-log.ts';
import { FakeClock } from '../../controller/fake-clock.ts';
import { aNode } from '../../nodepool/fixtures.ts';

const EVICTS = { key: 'team', value: 'ml', effect: 'NoExecute' } as const;
const KEEPS = { key: 'team', value: 'ml', effect: 'NoSchedule' } as const;

test('logs once a minute that a pool sets a NoExecute taint', async () => {
  const clock = new FakeClock();
  const log: string[] = [];
  const onWrite = noExecuteLog((level, message) => log.push(`${level} ${message}`), clock);
  const write = (name: string, taints: (typeof EVICTS | typeof KEEPS)[], before: (typeof EVICTS)[] = []) =>
    onWrite({
      kind: 'write',
      node: aNode({ name, taints: before }),
      owner: 'gpu',
      previous: undefined,
      changes: [],
      patch: { resourceVersion: '1', taints },
    });
  write('a', [KEEPS]);
  write('b', [EVICTS, KEEPS], [EVICTS]);
  assert.deepEqual(log, []);
  const of = (node: string) =>
    `warning gpu: setting taint team=ml:NoExecute on nodes, first on ${node}: pods that do not tolerate it are evicted; taints ignore PodDisruptionBudgets`;
  write('c', [EVICTS]);
  write('d', [EVICTS]);
  assert.deepEqual(log, [of('c')]);
  await clock.advance(60_000);
  write('e', [EVICTS]);
  assert.deepEqual(log, [of('c'), of('e')]);
});
