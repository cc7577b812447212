/** Good and bad pools. The rules in TypeScript and in the CRD must agree on each. */
import type { NodePoolSpec, Taint } from '../../src/nodepool/types.ts';
import { BAD_ANNOTATIONS, GOOD_ANNOTATIONS } from './annotation-cases.ts';
import { BAD_STARTUP_TAINTS, GOOD_STARTUP_TAINTS } from './startup-taint-cases.ts';

export interface PoolCase {
  title: string;
  /** Default `gpu`. */
  name?: string;
  /** Untyped, as some cases violate the types. */
  spec: { [Field in keyof NodePoolSpec]: unknown };
  /** The fields that are wrong, as validatePool names them; none for a good pool. */
  wrong: string[];
}

const a63 = 'a'.repeat(63);
const prefix253 = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}`;
const longestKey = `${prefix253}/${a63}`;

function labels(...keys: string[]): Record<string, string> {
  return Object.fromEntries(keys.map(key => [key, 'x']));
}

function many<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function taint(key: string, effect = 'NoSchedule', value?: string): unknown {
  return { key, effect, ...(value === undefined ? {} : { value }) };
}

function show(expression: object): string {
  return JSON.stringify(expression).slice(0, 60);
}

const manyTaints = (count: number) =>
  many(count, index => ({ key: `t${index}`, effect: 'NoSchedule' }) satisfies Taint);
const manyLabels = (count: number) => labels(...many(count, index => `l${index}`));

const meets = (operator: string, ...values: string[]) => ({
  key: 'a',
  operator,
  ...(values.length > 0 ? { values } : {}),
});
const expressions = (...matchExpressions: unknown[]) => ({ matchExpressions });

const good: Omit<PoolCase, 'wrong'>[] = [
  { title: 'an empty spec', spec: {} },
  {
    title: 'the pool of the operator before this product',
    name: 'worker',
    spec: {
      taints: [taint('node-pool.lailin.xyz', 'NoSchedule', 'worker')],
      labels: { 'node-pool.lailin.xyz/worker': '10' },
      handler: 'runc',
    },
  },
  { title: 'a name of 63 characters', name: a63, spec: {} },
  { title: 'other labels of our domain', spec: { labels: labels('nodes.lailin.xyz/tier', 'nodes.lailin.xyz/pools') } },
  {
    title: 'a selector by other labels of our domain',
    spec: {
      nodeSelector: labels('nodes.lailin.xyz/tier'),
      matchExpressions: [{ key: 'nodes.lailin.xyz/size', operator: 'Exists' }],
    },
  },
  { title: 'a name with dots', name: 'gpu.a100', spec: {} },
  { title: 'a name that starts with a digit', name: '4xlarge', spec: {} },
  { title: 'a name like a command', name: 'create', spec: {} },
  {
    title: 'a reserved name that says which nodes',
    name: 'control-plane',
    spec: { nodeSelector: { 'node-role.kubernetes.io/control-plane': '' }, labels: labels('a') },
  },
  { title: 'empty maps and lists', spec: { labels: {}, taints: [] } },
  {
    title: 'the longest key and value',
    spec: { labels: { [longestKey]: a63 }, taints: [taint(longestKey, 'NoExecute', a63)] },
  },
  { title: 'an empty label value', spec: { labels: { gpu: '' } } },
  { title: 'label keys that are names of JavaScript', spec: { labels: labels('constructor', 'toString') } },
  { title: '100 labels', spec: { labels: manyLabels(100) } },
  { title: '100 taints', spec: { taints: manyTaints(100) } },
  { title: '20 selector labels', spec: { nodeSelector: manyLabels(20) } },
  {
    title: 'one key with three effects',
    spec: { taints: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'].map(effect => taint('a', effect)) },
  },
  { title: 'a taint with an empty value', spec: { taints: [taint('a', 'NoSchedule', '')] } },
  {
    title: 'a taint with the time that core/v1 has',
    spec: { taints: [{ key: 'a', effect: 'NoExecute', timeAdded: '2026-01-01T00:00:00Z' }] },
  },
  {
    title: 'the taint that people set by hand',
    spec: { taints: [taint('node.kubernetes.io/out-of-service', 'NoExecute', 'nodeshutdown')] },
  },
  { title: 'a taint of the control plane', spec: { taints: [taint('node-role.kubernetes.io/control-plane')] } },
  {
    title: 'zones, which people set where there is no cloud',
    spec: { labels: labels('topology.kubernetes.io/zone', 'topology.kubernetes.io/region') },
  },
  {
    title: 'a label for load balancers',
    spec: { labels: labels('node.kubernetes.io/exclude-from-external-load-balancers') },
  },
  { title: 'another role', spec: { labels: { 'node-role.kubernetes.io/worker': '' } } },
  {
    title: 'a key next to the membership label',
    spec: { labels: labels('node-role.kubernetes.io/gpu2', 'kubernetes.io/hostname2') },
  },
  { title: 'no handler, written as Go writes it', spec: { handler: '' } },
  { title: 'a handler of 63 characters', spec: { handler: a63 } },
  { title: 'a selector by host name', spec: { nodeSelector: { 'kubernetes.io/hostname': 'n1' } } },
  { title: 'a selector value that is empty', spec: { nodeSelector: { gpu: '' } } },
  ...[
    meets('In', 'b', ''),
    meets('NotIn', ...many(100, index => `v${index}`)),
    meets('Exists'),
    { ...meets('DoesNotExist'), values: [] },
    meets('Gt', '0'),
    meets('Lt', '0009223372036854775807'),
    { key: longestKey, operator: 'In', values: [a63] },
    { key: 'node-role.kubernetes.io/gpu', operator: 'Exists' },
  ].map(expression => ({ title: `the expression ${show(expression)}`, spec: expressions(expression) })),
  {
    title: '20 expressions, of one key too',
    spec: expressions(...many(20, index => meets(index % 2 ? 'Gt' : 'Lt', `${index}`))),
  },
  {
    title: 'a reserved name with expressions',
    name: 'master',
    spec: expressions({ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' }),
  },
  {
    title: 'labels, selector and expressions',
    spec: { labels: labels('b'), nodeSelector: { a: 'x', c: '' }, ...expressions(meets('NotIn', 'y')) },
  },
  { title: 'unmanaged Keep', spec: { unmanaged: 'Keep' } },
  { title: 'unmanaged Remove', spec: { unmanaged: 'Remove' } },
  { title: 'noExecute Immediate', spec: { noExecute: 'Immediate' } },
  { title: 'noExecute Drain', spec: { noExecute: 'Drain', taints: [taint('a', 'NoExecute')] } },
  { title: 'paused', spec: { paused: true } },
  { title: 'not paused', spec: { paused: false } },
  { title: 'an empty rollout', spec: { rollout: {} } },
  {
    title: 'a rollout by numbers',
    spec: { rollout: { maxConcurrent: 1, canary: 0, settleSeconds: 0, stopOnNotReady: false } },
  },
  { title: 'a rollout by percentages', spec: { rollout: { maxConcurrent: '1%', canary: '0%', settleSeconds: 86400 } } },
  { title: 'a rollout of all', spec: { rollout: { maxConcurrent: '100%', canary: '99%' } } },
];

const bad: PoolCase[] = [
  { title: 'a name of 64 characters', name: `${a63}a`, spec: {}, wrong: ['metadata.name'] },
  { title: 'a name in upper case', name: 'GPU', spec: {}, wrong: ['metadata.name'] },
  { title: 'a name with an underscore', name: 'a_b', spec: {}, wrong: ['metadata.name'] },
  { title: 'a name that ends with a dash', name: 'a-', spec: {}, wrong: ['metadata.name'] },
  { title: 'the name control-plane', name: 'control-plane', spec: {}, wrong: ['metadata.name'] },
  { title: 'the name master', name: 'master', spec: { handler: 'runc' }, wrong: ['metadata.name'] },
  { title: 'a label key with a space', spec: { labels: labels('a b') }, wrong: ['spec.labels[a b]'] },
  { title: 'an empty label key', spec: { labels: labels('') }, wrong: ['spec.labels[]'] },
  { title: 'a label key of 64 characters', spec: { labels: labels(`${a63}a`) }, wrong: [`spec.labels[${a63}a]`] },
  {
    title: 'a label prefix of 254 characters',
    spec: { labels: labels(`${prefix253}d/a`) },
    wrong: [`spec.labels[${prefix253}d/a]`],
  },
  { title: 'a label prefix in upper case', spec: { labels: labels('A.com/a') }, wrong: ['spec.labels[A.com/a]'] },
  { title: 'a label prefix with an empty part', spec: { labels: labels('a..b/c') }, wrong: ['spec.labels[a..b/c]'] },
  { title: 'two slashes in a label key', spec: { labels: labels('a/b/c') }, wrong: ['spec.labels[a/b/c]'] },
  { title: 'nothing before the slash', spec: { labels: labels('/a') }, wrong: ['spec.labels[/a]'] },
  { title: 'nothing after the slash', spec: { labels: labels('a/') }, wrong: ['spec.labels[a/]'] },
  { title: 'a line break in a label key', spec: { labels: labels('a\n') }, wrong: ['spec.labels[a\n]'] },
  { title: 'a label value with a space', spec: { labels: { a: 'b c' } }, wrong: ['spec.labels[a]'] },
  { title: 'a label value of 64 characters', spec: { labels: { a: `${a63}a` } }, wrong: ['spec.labels[a]'] },
  { title: 'a label value with a line break', spec: { labels: { a: 'b\n' } }, wrong: ['spec.labels[a]'] },
  { title: 'a label value that is not ASCII', spec: { labels: { a: 'é' } }, wrong: ['spec.labels[a]'] },
  { title: '101 labels', spec: { labels: manyLabels(101) }, wrong: ['spec.labels'] },
  ...[
    'kubernetes.io/hostname',
    'kubernetes.io/os',
    'kubernetes.io/arch',
    'node.kubernetes.io/instance-type',
    'node.kubernetes.io/windows-build',
    'beta.kubernetes.io/os',
    'beta.kubernetes.io/fluentd-ds-ready',
    'failure-domain.beta.kubernetes.io/zone',
  ].map(key => ({
    title: `the cluster's label ${key}`,
    spec: { labels: labels(key) },
    wrong: [`spec.labels[${key}]`],
  })),
  {
    title: 'the own membership label',
    spec: { labels: { 'node-role.kubernetes.io/gpu': '' } },
    wrong: ['spec.labels[node-role.kubernetes.io/gpu]'],
  },
  {
    title: 'the default membership label beside a selector',
    spec: { labels: { 'node-role.kubernetes.io/gpu': '' }, nodeSelector: { a: 'b' } },
    wrong: ['spec.labels[node-role.kubernetes.io/gpu]'],
  },
  {
    title: 'a label of the selector',
    spec: { labels: { a: 'c', d: 'e' }, nodeSelector: { a: 'b', f: '' } },
    wrong: ['spec.labels[a]'],
  },
  { title: 'an empty selector', spec: { nodeSelector: {} }, wrong: ['spec.nodeSelector'] },
  { title: '21 selector labels', spec: { nodeSelector: manyLabels(21) }, wrong: ['spec.nodeSelector'] },
  { title: 'a selector key with a space', spec: { nodeSelector: labels('a b') }, wrong: ['spec.nodeSelector[a b]'] },
  { title: 'a selector value with a slash', spec: { nodeSelector: { a: 'b/c' } }, wrong: ['spec.nodeSelector[a]'] },
  { title: 'no expressions', spec: expressions(), wrong: ['spec.matchExpressions'] },
  {
    title: '21 expressions',
    spec: expressions(...many(21, () => meets('Exists'))),
    wrong: ['spec.matchExpressions'],
  },
  ...(
    [
      ['values', meets('In')],
      ['values', { ...meets('NotIn'), values: [] }],
      ['values', meets('In', ...many(101, index => `v${index}`))],
      ['values', meets('Exists', 'b')],
      ['values', meets('DoesNotExist', 'b')],
      ['values', meets('Gt')],
      ['values', meets('Lt', '1', '2')],
      ['values', meets('Gt', 'x')],
      ['values', meets('Gt', '')],
      ['values', meets('Gt', '1.5')],
      ['values', meets('Lt', '9223372036854775808')],
      ['values', meets('Lt', '99999999999999999999')],
      ['values[1]', meets('In', 'b', 'c d')],
      ['values[0]', meets('NotIn', `${a63}a`)],
      ['operator', meets('in', 'b')],
      ['operator', meets('', 'b')],
      ['key', { key: '', operator: 'Exists' }],
      ['key', { key: 'a b', operator: 'Exists' }],
      ['key', { key: `${prefix253}d/a`, operator: 'Exists' }],
      ['key', { key: 'nodes.lailin.xyz/pool', operator: 'Exists' }],
    ] as const
  ).map(([field, expression]) => ({
    title: `the expression ${show(expression)}`,
    spec: expressions(expression),
    wrong: [`spec.matchExpressions[0].${field}`],
  })),
  {
    title: 'a negative bound, which no label can have',
    spec: expressions(meets('Gt', '-1')),
    wrong: ['spec.matchExpressions[0].values[0]', 'spec.matchExpressions[0].values'],
  },
  {
    title: 'a label that an expression names',
    spec: { labels: labels('a', 'b'), ...expressions(meets('NotIn', 'y')) },
    wrong: ['spec.labels[a]'],
  },
  {
    title: 'a label of this program',
    spec: { labels: labels('nodes.lailin.xyz/pool') },
    wrong: ['spec.labels[nodes.lailin.xyz/pool]'],
  },
  {
    title: 'a selector by a label of this program',
    spec: { nodeSelector: labels('nodes.lailin.xyz/pool') },
    wrong: ['spec.nodeSelector[nodes.lailin.xyz/pool]'],
  },
  { title: 'a taint key with a space', spec: { taints: [taint('a'), taint('b c')] }, wrong: ['spec.taints[1].key'] },
  { title: 'an empty taint key', spec: { taints: [taint('')] }, wrong: ['spec.taints[0].key'] },
  { title: 'a taint key of 64 characters', spec: { taints: [taint(`${a63}a`)] }, wrong: ['spec.taints[0].key'] },
  {
    title: 'a taint prefix of 254 characters',
    spec: { taints: [taint(`${prefix253}d/a`)] },
    wrong: ['spec.taints[0].key'],
  },
  {
    title: 'a taint value with a colon',
    spec: { taints: [taint('a', 'NoSchedule', 'b:c')] },
    wrong: ['spec.taints[0].value'],
  },
  {
    title: 'a taint value of 64 characters',
    spec: { taints: [taint('a', 'NoSchedule', `${a63}a`)] },
    wrong: ['spec.taints[0].value'],
  },
  { title: 'an unknown effect', spec: { taints: [taint('a', 'NoRun')] }, wrong: ['spec.taints[0].effect'] },
  { title: 'an effect in lower case', spec: { taints: [taint('a', 'noschedule')] }, wrong: ['spec.taints[0].effect'] },
  { title: 'an empty effect', spec: { taints: [taint('a', '')] }, wrong: ['spec.taints[0].effect'] },
  {
    title: 'a key and effect twice',
    spec: { taints: [taint('a', 'NoSchedule', '1'), taint('a', 'NoExecute'), taint('a', 'NoSchedule', '2')] },
    wrong: ['spec.taints[2]'],
  },
  { title: 'the same taint twice', spec: { taints: [taint('a'), taint('a')] }, wrong: ['spec.taints[1]'] },
  { title: '101 taints', spec: { taints: manyTaints(101) }, wrong: ['spec.taints'] },
  ...[
    'node.kubernetes.io/not-ready',
    'node.kubernetes.io/unschedulable',
    'node.cloudprovider.kubernetes.io/uninitialized',
  ].map(key => ({
    title: `the cluster's taint ${key}`,
    spec: { taints: [taint(key)] },
    wrong: ['spec.taints[0].key'],
  })),
  { title: 'a handler in upper case', spec: { handler: 'Kata' }, wrong: ['spec.handler'] },
  { title: 'a handler with a dot', spec: { handler: 'a.b' }, wrong: ['spec.handler'] },
  { title: 'a handler of 64 characters', spec: { handler: `${a63}a` }, wrong: ['spec.handler'] },
  ...[0, -1, 1_000_001, '0%', '101%', '5', '5 %', '05%', '1.5%', '5%\n', '', 'all'].map(maxConcurrent => ({
    title: `maxConcurrent ${JSON.stringify(maxConcurrent)}`,
    spec: { rollout: { maxConcurrent } },
    wrong: ['spec.rollout.maxConcurrent'],
  })),
  ...[-1, '101%', '3'].map(canary => ({
    title: `canary ${JSON.stringify(canary)}`,
    spec: { rollout: { canary } },
    wrong: ['spec.rollout.canary'],
  })),
  ...[-1, 86_401].map(settleSeconds => ({
    title: `settleSeconds ${settleSeconds}`,
    spec: { rollout: { settleSeconds } },
    wrong: ['spec.rollout.settleSeconds'],
  })),
  ...['Evict', 'drain', ''].map(noExecute => ({
    title: `noExecute ${JSON.stringify(noExecute)}`,
    spec: { noExecute },
    wrong: ['spec.noExecute'],
  })),
  { title: 'another word for unmanaged', spec: { unmanaged: 'Strip' }, wrong: ['spec.unmanaged'] },
  { title: 'an empty unmanaged', spec: { unmanaged: '' }, wrong: ['spec.unmanaged'] },
  {
    title: 'several errors',
    spec: { labels: { a: 'b c' }, taints: [taint('a', 'NoRun')], handler: 'K' },
    wrong: ['spec.labels[a]', 'spec.taints[0].effect', 'spec.handler'],
  },
];

export const POOL_CASES: PoolCase[] = [
  ...[...good, ...GOOD_ANNOTATIONS, ...GOOD_STARTUP_TAINTS].map(pool => ({ ...pool, wrong: [] })),
  ...[...bad, ...BAD_ANNOTATIONS, ...BAD_STARTUP_TAINTS],
];
