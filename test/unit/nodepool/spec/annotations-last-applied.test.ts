import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LAST_APPLIED, takenBackByApply } from '../../../../src/nodepool/spec/annotations.ts';
import type { NodePoolSpec } from '../../../../src/nodepool/types.ts';

const FILE = { labels: { team: 'a' }, taints: [{ key: 'x', effect: 'NoSchedule' }], handler: 'runc' };

function takenBack(spec: object, file: string | undefined = JSON.stringify({ spec: FILE })): string[] {
  const metadata = { name: 'web', ...(file === undefined ? {} : { annotations: { [LAST_APPLIED]: file } }) };
  return takenBackByApply({
    apiVersion: 'nodes.lailin.xyz/v1',
    kind: 'NodePool',
    metadata,
    spec: spec as NodePoolSpec,
  } as Parameters<typeof takenBackByApply>[0]);
}

test('takenBack() lists fields that differ from the file, not fields that the file lacks', () => {
  const cases: [spec: object, paths: string[]][] = [
    [FILE, []],
    [{ ...FILE, labels: { team: 'a', stage: 'canary' }, unmanaged: 'Remove' }, []],
    [{ ...FILE, labels: { team: 'b' } }, ['spec.labels.team']],
    [{ ...FILE, labels: {} }, ['spec.labels.team']],
    [{ ...FILE, taints: [...FILE.taints, { key: 'y', effect: 'NoSchedule' }] }, ['spec.taints']],
    [{ labels: FILE.labels }, ['spec.taints', 'spec.handler']],
  ];
  for (const [spec, paths] of cases) assert.deepEqual(takenBack(spec), paths);
});

test('takenBack() lists nothing without a file or with an invalid one', () => {
  assert.deepEqual(
    ['', '{', 'null', '[]', '{"spec":1}', '{"spec":{"__proto__":{"a":1}}}'].map(file => takenBack({}, file)),
    [[], [], [], [], [], ['spec.__proto__']],
  );
});
