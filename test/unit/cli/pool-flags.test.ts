import assert from 'node:assert/strict';
import { test } from 'node:test';
import { editsFromFlags, specFromFlags } from '../../../src/cli/pool-flags.ts';

test('builds a spec of exactly the flags that were given', () => {
  assert.deepEqual(specFromFlags({}), {});
  assert.deepEqual(
    specFromFlags({
      label: ['a=b'],
      taint: ['c:NoExecute'],
      handler: '',
      'node-selector': ['d='],
      unmanaged: 'Remove',
    }),
    {
      labels: { a: 'b' },
      taints: [{ key: 'c', effect: 'NoExecute' }],
      handler: '',
      nodeSelector: { d: '' },
      unmanaged: 'Remove',
    },
  );
});

test('edits set fields, and remove them with null', () => {
  assert.deepEqual(editsFromFlags({ label: ['a=b', 'c-'], taint: ['d:NoExecute', 'e-'] }), {
    labels: { a: 'b', c: null },
    nodeSelector: {},
    setTaints: [{ key: 'd', effect: 'NoExecute' }],
    removeTaints: [{ key: 'e' }],
    handler: undefined,
    unmanaged: undefined,
  });
});

test('reports a flag that cannot be parsed as a usage error with the next step', () => {
  for (const flags of [{ label: ['a'] }, { taint: ['a:b'] }, { 'node-selector': ['a'] }]) {
    for (const read of [specFromFlags, editsFromFlags]) {
      assert.throws(
        () => read(flags),
        (error: { kind?: unknown; message: string; next?: unknown }) => {
          assert.equal(error.kind, 'usage');
          assert.match(error.message, /^--(label|taint|node-selector) "/);
          assert.match(String(error.next), /^write it as key/);
          return true;
        },
      );
    }
  }
});
