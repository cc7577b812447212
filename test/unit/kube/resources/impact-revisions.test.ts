import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Api } from '../../../../src/kube/api/api.ts';
import { impactPort } from '../../../../src/kube/resources/impact.ts';

test('the partition of a StatefulSet counts from its first ordinal', async () => {
  const template = { spec: { containers: [] } };
  const set = (name: string, spec: object, updateRevision = 'b') => ({
    ...{ metadata: { namespace: 'shop', name }, spec: { template, ...spec } },
    status: { currentRevision: 'a', updateRevision },
  });
  const updateStrategy = { rollingUpdate: { partition: 2 } };
  const sets = [
    set('plain', { updateStrategy }),
    set('later', { updateStrategy, ordinals: { start: 10 } }),
    set('whole', { ordinals: { start: 10 } }),
    set('same', { updateStrategy }, 'a'),
  ];
  const list = async (_: unknown, map: (item: unknown) => unknown) => sets.map(map).filter(Boolean);
  const api = { list } as unknown as Api;
  const found = await impactPort(api).newRevisions();
  assert.deepEqual(
    [...found].map(([name, { partition }]) => [name, partition]),
    [
      ['shop/plain', 2],
      ['shop/later', 12],
      ['shop/whole', 10],
    ],
  );
});
