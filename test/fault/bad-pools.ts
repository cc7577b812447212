/** Pools that a CRD without a schema accepts, and odd records of nodes. */

/** Invalid specs by the pool's name, and the message in the status of each. */
export const BAD_SPECS: Record<string, [spec: unknown, reason: string]> = {
  'spec-string': ['x', 'spec: expected a map of fields, found "x"'],
  'spec-number': [5, 'spec: expected a map of fields, found the number 5'],
  'spec-list': [[1], 'spec: expected a map of fields, found a list'],
  'labels-number': [{ labels: 5 }, 'spec.labels: expected a map, found the number 5'],
  'labels-string': [{ labels: 'abc' }, 'spec.labels: expected a map, found "abc"'],
  'labels-list': [{ labels: ['a'] }, 'spec.labels: expected a map, found a list'],
  'label-number': [{ labels: { a: 5, b: 'c' } }, 'spec.labels[a]: expected a string, found the number 5'],
  'label-long': [{ labels: { a: 'x'.repeat(200_000) } }, 'spec.labels[a]: value "xxxx'],
  'labels-many': [{ labels: numbered('l', key => [key, '']) }, 'spec.labels: more than 100 labels'],
  'taints-string': [{ taints: 'abc' }, 'spec.taints: expected a list, found "abc"'],
  'taints-map': [{ taints: { a: 1 } }, 'spec.taints: expected a list, found a map'],
  'taint-null': [{ taints: [null] }, 'spec.taints[0]: expected a map of fields, found nothing'],
  'taint-empty': [{ taints: [{}] }, 'spec.taints[0].key: missing; spec.taints[0].effect: missing'],
  'taint-number': [{ taints: [{ key: 5, effect: 'NoSchedule' }] }, 'spec.taints[0].key: expected a string, found'],
  'taints-many': [
    { taints: Object.keys(numbered('t', key => [key, ''])).map(key => ({ key, effect: 'NoSchedule' })) },
    'spec.taints: more than 100 taints',
  ],
  'handler-map': [{ handler: {} }, 'spec.handler: expected a string, found a map'],
  'selector-string': [{ nodeSelector: 'a' }, 'spec.nodeSelector: expected a map, found "a"'],
  'selector-number': [{ nodeSelector: { a: 1 } }, 'spec.nodeSelector[a]: expected a string, found the number 1'],
  'unmanaged-number': [{ unmanaged: 3 }, 'spec.unmanaged: expected a string, found the number 3'],
  control: [
    {
      labels: { 'a\u0007b': 'c\u001b[31m' },
      taints: [{ key: 'k\n', value: '\u202e', effect: 'NoSchedule\u0000' }],
      handler: 'h\u009b',
      nodeSelector: { 'k\r': '\u2066' },
    },
    'spec.labels[a\u0007b]: the name of key "a\\u0007b" must consist of letters',
  ],
};

/** Statuses that the product never writes. */
export const ODD_STATUSES: Record<string, unknown> = {
  'status-string': 'x',
  'status-list': [1],
  'status-fields': { status: 'fine', nodeCount: -1.5, readyNodeCount: {}, allocatable: 5, conditions: 'x' },
  'status-quantities': { status: 200, nodeCount: 1, allocatable: { cpu: '1Kii', memory: 5, pods: {}, x: '\u001b[2J' } },
  'status-conditions': {
    status: 200,
    nodeCount: 1,
    conditions: [null, 'x', { type: 5 }, { type: 'Ready' }, { type: 'Other', status: 'Perhaps' }, {}, {}],
  },
};

function numbered<T>(prefix: string, entry: (key: string) => [string, T]): Record<string, T> {
  return Object.fromEntries(Array.from({ length: 1000 }, (_, at) => entry(`${prefix}${at}`)));
}

/** Records that no pool writes; one of them has the maximum size of annotations. */
export const ODD_RECORDS: Record<string, string> = {
  text: 'x',
  null: 'null',
  list: '[]',
  unfinished: '{"pool":"odd"',
  untyped: '{"pool":5,"labels":"x","taints":[null],"displaced":7}',
  wrong:
    '{"pool":"odd","labels":{"a b":"c","__proto__":"x"},"taints":{"k:Never":"v"},"displaced":{"labels":{"a b":5}}}',
  full: `{"pool":"odd","labels":{${Array.from({ length: 20_000 }, (_, at) => `"k${at}":5`).join(',')}}}`,
};
