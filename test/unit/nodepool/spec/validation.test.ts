import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatRecord } from '../../../../src/nodepool/plan/record.ts';
import { MAX_TAINTS } from '../../../../src/nodepool/spec/taints.ts';
import { MAX_LABELS, validatePool } from '../../../../src/nodepool/spec/validation.ts';
import type { NodePool, NodePoolSpec } from '../../../../src/nodepool/types.ts';
import { POOL_CASES } from '../../../contract/pool-cases.ts';

for (const { title, name = 'gpu', spec, wrong } of POOL_CASES) {
  test(`${wrong.length === 0 ? 'accepts' : 'refuses'} ${title}`, () => {
    assert.deepEqual(
      validatePool(pool(name, spec as NodePoolSpec)).map(error => error.field),
      wrong,
    );
  });
}

test('the error names the problem and the next step', () => {
  const [reserved] = validatePool(pool('master', {}));
  assert.match(
    reserved?.message ?? '',
    /"master" is reserved: by default this pool would select the control-plane nodes/,
  );
  assert.match(reserved?.next ?? '', /spec\.nodeSelector/);
  const [twice] = validatePool(
    pool('gpu', {
      taints: [
        { key: 'a', effect: 'NoSchedule' },
        { key: 'a', effect: 'NoSchedule' },
      ],
    }),
  );
  assert.equal(twice?.message, 'duplicate taint with key "a" and effect NoSchedule');
});

test('reports all errors in the order of the fields', () => {
  const errors = validatePool(
    pool('master', {
      labels: { 'kubernetes.io/os': 'linux', 'a b': 'c d' },
      taints: [{ key: '', value: ' ', effect: 'X' as 'NoExecute' }],
      handler: 'K',
    }),
  );
  assert.deepEqual(
    errors.map(error => error.field),
    [
      'metadata.name',
      'spec.labels[a b]',
      'spec.labels[a b]',
      'spec.labels[kubernetes.io/os]',
      'spec.taints[0].key',
      'spec.taints[0].value',
      'spec.taints[0].effect',
      'spec.handler',
    ],
  );
});

test('the largest record without annotations and startup taints leaves room for other annotations', () => {
  const key = (index: number) => `${'p'.repeat(253)}/${String(index).padStart(63, 'k')}`;
  const slots = (count: number, suffix: string) =>
    new Map(
      Array.from({ length: count }, (_, index) => [
        `${key(index)}${suffix}`,
        { value: 'v'.repeat(63), displaced: 'd'.repeat(63) },
      ]),
    );
  const record = formatRecord({
    pool: 'x'.repeat(63),
    labels: slots(MAX_LABELS, ''),
    taints: slots(MAX_TAINTS, ':PreferNoSchedule'),
    annotations: new Map(),
    startup: new Map(),
  });
  assert.ok(record.length < 165_000, `${record.length} bytes of the 262,144 for all annotations`);
});

function pool(name: string, spec: NodePoolSpec): NodePool {
  return { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name }, spec };
}
