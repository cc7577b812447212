import assert from 'node:assert/strict';
import { test } from 'node:test';
import { editsFromFlags, specFromFlags } from '../../../../../src/commands/shared/spec/pool-flags.ts';
import { applyEdits, specToEdit } from '../../../../../src/nodepool/spec/edits.ts';
import type { NodePoolSpec } from '../../../../../src/nodepool/types.ts';
import { aPool } from '../../../nodepool/fixtures.ts';

test('builds a spec of exactly the given flags', () => {
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
  const annotation = ['f=1,2', 'g={"h":"=i-"}', 'j-', 'k='];
  assert.deepEqual(editsFromFlags({ label: ['a=b', 'c-'], taint: ['d:NoExecute', 'e-'], annotation }), {
    labels: { a: 'b', c: null },
    nodeSelector: {},
    matchExpressions: [],
    annotations: { f: '1,2', g: '{"h":"=i-"}', j: null, k: '' },
    setTaints: [{ key: 'd', effect: 'NoExecute' }],
    removeTaints: [{ key: 'e' }],
    setStartupTaints: [],
    removeStartupTaints: [],
    handler: undefined,
    unmanaged: undefined,
    noExecute: undefined,
    rollout: {},
    paused: undefined,
  });
  assert.equal(editsFromFlags({ noexecute: 'Drain' }).noExecute, 'Drain');
  assert.deepEqual(specFromFlags({ noexecute: 'Drain' }), { noExecute: 'Drain' });
});

test('rollout flags set the fields of the rollout', () => {
  const flags = { 'max-concurrent': '25%', canary: '1', settle: '2m' };
  const rollout = { maxConcurrent: '25%', canary: 1, settleSeconds: 120 };
  assert.deepEqual(specFromFlags({ ...flags, paused: true }), { rollout, paused: true });
  assert.deepEqual(specFromFlags({ canary: '0' }), {});
  const edited = (spec: NodePoolSpec, given: Parameters<typeof editsFromFlags>[0]) =>
    applyEdits(spec, editsFromFlags(given)).spec;
  assert.deepEqual(edited({ rollout: { canary: 2, stopOnNotReady: false } }, flags), {
    rollout: { ...rollout, stopOnNotReady: false },
  });
  const none = { 'max-concurrent': '', canary: '0', settle: '' };
  assert.deepEqual(edited({ rollout }, none), {}, 'no field is left');
  assert.deepEqual(edited({ rollout }, { canary: '0%' }), { rollout: { maxConcurrent: '25%', settleSeconds: 120 } });
  assert.deepEqual(edited({ rollout: { canary: 1, stopOnNotReady: false } }, none), {
    rollout: { stopOnNotReady: false },
  });
  assert.deepEqual(edited({ rollout: {} }, none), { rollout: {} });
  assert.deepEqual(edited({}, none), {});
  assert.deepEqual(edited({}, { paused: true }), { paused: true });
  assert.deepEqual(edited({ paused: true }, { paused: false }), {});
  assert.deepEqual(edited({ paused: true }, {}), { paused: true });
  for (const [given, message] of [
    [
      { 'max-concurrent': '0' },
      '--max-concurrent: 0 must be a number from 1 to 1000000 or a percentage from 1% to 100%',
    ],
    [{ canary: '101%' }, '--canary: "101%" must be a number from 0 to 1000000 or a percentage from 0% to 100%'],
    [{ settle: '25h' }, '--settle: "25h" must be whole seconds, and 24h at most'],
    [{ settle: '1500ms' }, '--settle: "1500ms" must be whole seconds, and 24h at most'],
    [{ settle: 'x' }, '--settle: "x" is not a duration'],
  ] as const) {
    for (const read of [specFromFlags, editsFromFlags]) assert.throws(() => read(given), { kind: 'usage', message });
  }
});

test('reports a flag that cannot be parsed as a usage error with the next step', () => {
  const wrong = [{ label: ['a'] }, { taint: ['a:b'] }, { 'node-selector': ['a in'] }, { annotation: ['a'] }];
  for (const flags of wrong) {
    for (const read of [specFromFlags, editsFromFlags]) {
      assert.throws(
        () => read(flags),
        (error: { kind?: unknown; message: string; next?: unknown }) => {
          assert.equal(error.kind, 'usage');
          assert.match(error.message, /^--(label|taint|node-selector|annotation) "/);
          assert.match(String(error.next), /^(use|write it like) key/);
          return true;
        },
      );
    }
  }
});

test('--node-selector accepts the syntax of kubectl get -l', () => {
  const spec = specFromFlags({ 'node-selector': ['zone in (a,b),!spot', 'tier=gold,cpu>4', 'x==,gpu,os!=windows'] });
  assert.deepEqual(spec, {
    nodeSelector: { tier: 'gold', x: '' },
    matchExpressions: [
      { key: 'zone', operator: 'In', values: ['a', 'b'] },
      { key: 'spot', operator: 'DoesNotExist' },
      { key: 'cpu', operator: 'Gt', values: ['4'] },
      { key: 'gpu', operator: 'Exists' },
      { key: 'os', operator: 'NotIn', values: ['windows'] },
    ],
  });
  assert.deepEqual(specFromFlags({ 'node-selector': ['!spot'] }), {
    matchExpressions: [{ key: 'spot', operator: 'DoesNotExist' }],
  });
  for (const [text, said] of [
    ['', 'the value of the flag is empty'],
    ['a-', 'the name of key "a-" must consist of'],
    ['a b=c', 'found "b", expected one of'],
    ['cpu>x', '"x" after > is not an integer'],
    ['a=b,a=c', 'a is given twice with different values'],
    ['zone in (a,b', 'found its end, expected ")"'],
  ] as const) {
    assert.throws(
      () => specFromFlags({ 'node-selector': [text] }),
      ({ message }: Error) => message.startsWith(`--node-selector ${JSON.stringify(text)}: ${said}`),
    );
  }
});

test('adds expressions to the default selector instead of replacing it', () => {
  const role = 'node-role.kubernetes.io/worker';
  const edited = (texts: string[], before: NodePoolSpec = {}) => {
    const edits = editsFromFlags({ 'node-selector': texts });
    return applyEdits(specToEdit(aPool(before), edits), edits);
  };
  const spot = { key: 'spot', operator: 'DoesNotExist' };
  assert.deepEqual(edited(['!spot']).spec, { nodeSelector: { [role]: '' }, matchExpressions: [spot] });
  assert.deepEqual(edited(['!spot,none-']).notFound, ['node selector none']);
  for (const [texts, before, nodeSelector] of [
    // Somebody who names it means it.
    [['!spot', `${role}-`], {}, undefined],
    [['!spot,zone=a'], {}, { zone: 'a' }],
    [['!spot'], { nodeSelector: { zone: 'a' } }, { zone: 'a' }],
    [['!spot'], { matchExpressions: [{ key: 'zone', operator: 'Exists' }] }, undefined],
    [['zone=a'], {}, { zone: 'a' }],
  ] as const) {
    const { spec, notFound } = edited([...texts], before as NodePoolSpec);
    assert.deepEqual([spec.nodeSelector, notFound], [nodeSelector, []], texts.join());
  }
  assert.equal(edited([`!${role}`]).spec.nodeSelector, undefined, 'no node could meet both');
});

test('an edit of the selector replaces the requirements for the same label', () => {
  const before = {
    nodeSelector: { a: '1', b: '2' },
    matchExpressions: [
      { key: 'cpu', operator: 'Gt', values: ['4'] },
      { key: 'cpu', operator: 'Lt', values: ['16'] },
      { key: 'zone', operator: 'In', values: ['x'] },
    ],
  };
  const edited = (...texts: string[]) => applyEdits(before, editsFromFlags({ 'node-selector': texts }));
  assert.deepEqual(edited('cpu-,b-,none-'), {
    spec: { nodeSelector: { a: '1' }, matchExpressions: before.matchExpressions.slice(2) },
    notFound: ['node selector none'],
  });
  assert.deepEqual(edited('cpu>8', 'zone=y,a notin (3),b=5').spec, {
    nodeSelector: { b: '5', zone: 'y' },
    matchExpressions: [
      { key: 'cpu', operator: 'Gt', values: ['8'] },
      { key: 'a', operator: 'NotIn', values: ['3'] },
    ],
  });
  assert.deepEqual(edited('a-,b-').spec, { matchExpressions: before.matchExpressions });
  assert.deepEqual(edited('cpu-,zone-').spec, { nodeSelector: before.nodeSelector });
  assert.throws(() => edited('a-,!a'), { message: '--node-selector "a-": a is both set and removed' });
});

test('--startup-taint takes the condition and `again` after each taint', () => {
  const given = [
    'a=b:NoSchedule,until=AgentReady',
    'until:NoSchedule,c:NoExecute,until=e.com/Ready,again=Boot,d:PreferNoSchedule,again=Boot',
    'again:NoSchedule',
  ];
  const taints = [
    { key: 'a', value: 'b', effect: 'NoSchedule', until: { nodeCondition: 'AgentReady' } },
    { key: 'until', effect: 'NoSchedule' },
    { key: 'c', effect: 'NoExecute', until: { nodeCondition: 'e.com/Ready' }, again: 'Boot' },
    { key: 'd', effect: 'PreferNoSchedule', again: 'Boot' },
    { key: 'again', effect: 'NoSchedule' },
  ];
  assert.deepEqual(specFromFlags({ 'startup-taint': given }).startupTaints, taints);
  const edits = editsFromFlags({ 'startup-taint': [...given, 'e:NoSchedule-,f-'] });
  assert.deepEqual(edits.setStartupTaints, taints);
  assert.deepEqual(edits.removeStartupTaints, [{ key: 'e', effect: 'NoSchedule' }, { key: 'f' }]);
  const before = {
    taints: [{ key: 'f', effect: 'NoSchedule' as const }],
    startupTaints: [{ key: 'f', effect: 'NoSchedule' as const }],
  };
  const { spec, notFound } = applyEdits(before, edits);
  assert.deepEqual(
    [spec.startupTaints, spec.taints, notFound],
    [taints, before.taints, ['startup taint e:NoSchedule']],
  );
});

test('reports an unreadable --startup-taint as a usage error', () => {
  const wrong = {
    'until=Ready': /--startup-taint "until=Ready": the taint before "until=Ready" is missing/,
    'a:NoSchedule,until=': /the condition type is empty/,
    'a:NoSchedule,until=b c': /the name of condition type "b c" must/,
    'a:NoSchedule,until=A,until=B': /a:NoSchedule has until= twice/,
    'a:NoSchedule,again=Boot,again=Boot': /a:NoSchedule has again= twice/,
    'a:NoSchedule,again=boot': /"boot" is invalid/,
    'again=Boot': /the taint before "again=Boot" is missing/,
    'a:NoSchedule,again=Boot,a:NoSchedule': /a:NoSchedule is given twice with different values/,
    'a:NoSchedule,': /--startup-taint "": the value of the flag is empty/,
    'a:NoRun,until=A': /effect "NoRun" must be one of/,
    'a:NoSchedule,until=A,a:NoSchedule': /a:NoSchedule is given twice with different values/,
    'a:NoSchedule,a=b:NoSchedule': /a:NoSchedule is given twice/,
  };
  for (const [text, message] of Object.entries(wrong)) {
    for (const read of [specFromFlags, editsFromFlags]) {
      assert.throws(() => read({ 'startup-taint': [text] }), { kind: 'usage', message }, text);
    }
  }
  for (const text of ['a:NoSchedule-,until=A', 'a:NoSchedule-,again=Boot', 'a:NoSchedule,a:NoSchedule-'])
    assert.throws(() => editsFromFlags({ 'startup-taint': [text] }), { kind: 'usage' }, text);
});
