/** Good and bad spec.startupTaints, for POOL_CASES. */

interface StartupTaintCase {
  title: string;
  spec: { taints?: unknown; startupTaints: unknown };
}

const a63 = 'a'.repeat(63);
const prefix253 = `${a63}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}`;
const longestKey = `${prefix253}/${a63}`;

const taint = (key: string, effect = 'NoSchedule', rest: object = {}) => ({ key, effect, ...rest });
const until = (nodeCondition: string) => taint('a', 'NoSchedule', { until: { nodeCondition } });
const many = (count: number) => Array.from({ length: count }, (_, index) => taint(`t${index}`));

export const GOOD_STARTUP_TAINTS: StartupTaintCase[] = [
  { title: 'no startup taints', spec: { startupTaints: [] } },
  {
    title: 'startup taints of each effect, with and without a condition',
    spec: {
      startupTaints: [
        taint('agent', 'NoSchedule', { value: 'starting', until: { nodeCondition: 'AgentReady' } }),
        taint('agent', 'NoExecute', { value: '' }),
        taint('agent', 'PreferNoSchedule'),
      ],
    },
  },
  ...['Ready', 'a', 'e.com/Agent_Ready.1', longestKey].map(type => ({
    title: `a startup taint until ${type.slice(0, 30)}`,
    spec: { startupTaints: [until(type)] },
  })),
  {
    title: 'the longest startup taint',
    spec: { startupTaints: [taint(longestKey, 'PreferNoSchedule', { value: a63 })] },
  },
  { title: 'a startup taint of an agent', spec: { startupTaints: [taint('node.cilium.io/agent-not-ready')] } },
  {
    title: 'a taint and a startup taint of one key',
    spec: { taints: [taint('a'), taint('b')], startupTaints: [taint('a', 'NoExecute')] },
  },
  { title: '100 startup taints', spec: { startupTaints: many(100) } },
  {
    title: 'startup taints that are given again',
    spec: {
      startupTaints: [taint('a', 'NoSchedule', { again: 'Boot' }), { ...until('Ready'), key: 'b', again: 'Boot' }],
    },
  },
];

export const BAD_STARTUP_TAINTS: (StartupTaintCase & { wrong: string[] })[] = [
  ...(
    [
      ['key', taint('')],
      ['key', taint('b c')],
      ['key', taint(`${prefix253}d/a`)],
      ['key', taint('node.kubernetes.io/not-ready')],
      ['key', taint('node.cloudprovider.kubernetes.io/uninitialized')],
      ['value', taint('a', 'NoSchedule', { value: 'b:c' })],
      ['effect', taint('a', 'NoRun')],
      ['until.nodeCondition', until('')],
      ['until.nodeCondition', until('Agent Ready')],
      ['until.nodeCondition', until('a/b/c')],
      ['until.nodeCondition', until(`${a63}a`)],
      ['until.nodeCondition', until(`${prefix253}d/a`)],
      ['until.nodeCondition', until('Ready\n')],
      ['again', taint('a', 'NoSchedule', { again: 'boot' })],
      ['again', taint('a', 'NoSchedule', { again: '' })],
    ] as const
  ).map(([field, one]) => ({
    title: `the startup taint ${JSON.stringify(one).slice(0, 70)}`,
    spec: { startupTaints: [taint('first'), one] },
    wrong: [`spec.startupTaints[1].${field}`],
  })),
  {
    title: 'a key and effect twice in startup taints',
    spec: { startupTaints: [taint('a'), taint('a', 'NoExecute'), until('Ready')] },
    wrong: ['spec.startupTaints[2]'],
  },
  {
    title: 'a key and effect in taints and startup taints',
    spec: { taints: [taint('a', 'NoSchedule', { value: 'x' })], startupTaints: [taint('b'), taint('a')] },
    wrong: ['spec.startupTaints'],
  },
  { title: '101 startup taints', spec: { startupTaints: many(101) }, wrong: ['spec.startupTaints'] },
];
