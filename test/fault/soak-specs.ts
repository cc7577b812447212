/** Random specs of the pools of a soak. */
import type { NodePoolSpec, Taint } from '../../src/nodepool/types.ts';
import { evicting } from './evicted-pods.ts';
import { taintId } from './model.ts';
import type { Random } from './random.ts';

export const HANDLERS = ['runc', 'gvisor', 'kata'];
export const SETUP: Taint = { key: 'setup', effect: 'NoSchedule' };
const AGENT = { key: 'agent', effect: 'NoSchedule' as const, until: { nodeCondition: 'AgentReady' } };
/** As key:Effect; nobody but pools sets them. */
export const STARTUP_IDS = new Set([SETUP, AGENT].map(taintId));

export function randomSpec(name: string, random: Random): NodePoolSpec {
  const handler = maybe([...HANDLERS, undefined], random);
  const value = String(Math.floor(random() * 3));
  const { taint, ...drain } = evicting(`${name}-${value}`);
  const isEvicting = random() < 0.5;
  const taints: Taint[] = [
    ...(random() < 0.7 ? [{ key: name, value, effect: 'NoSchedule' as const }] : []),
    ...(isEvicting ? [taint] : []),
  ];
  return {
    labels: { tier: `${name}-${value}`, ...(random() < 0.5 ? { [`only-${name}`]: value } : {}) },
    ...(taints.length > 0 ? { taints } : {}),
    ...(isEvicting ? drain : {}),
    ...(random() < 0.7 ? { annotations: annotationsOf(name, value, random) } : {}),
    ...(random() < 0.7 ? { startupTaints: [{ ...SETUP, value }, AGENT] } : {}),
    ...(handler === undefined ? {} : { handler }),
    ...(random() < 0.6 ? { rollout: rolloutOf(random) } : {}),
    ...selectorOf(name, random),
  };
}

/** Some end after the next edit of the pool has begun another one. */
function rolloutOf(random: Random): NonNullable<NodePoolSpec['rollout']> {
  return {
    maxConcurrent: maybe(['30%', 5, 2], random) ?? 1,
    settleSeconds: Math.floor(random() * 3),
    ...(random() < 0.5 ? { canary: 1 } : {}),
  };
}

/** Of the nodes with the pool's role, all or those of some sizes. */
function selectorOf(name: string, random: Random): NodePoolSpec {
  const key = `node-role.kubernetes.io/${name}`;
  const size = { key: 'size', values: [String(Math.floor(random() * 4))] };
  const matchExpressions = maybe(
    [
      undefined,
      undefined,
      [{ key, operator: 'Exists' }],
      [{ key, operator: 'In', values: ['', 'other'] }],
      [
        { key, operator: 'Exists' },
        { ...size, operator: 'NotIn' },
      ],
      [
        { key, operator: 'Exists' },
        { ...size, operator: 'Gt' },
      ],
      [
        { key: 'size', operator: 'DoesNotExist' },
        { key, operator: 'Exists' },
      ],
    ],
    random,
  );
  const nodeSelector = random() < 0.3 ? { nodeSelector: { [key]: '' } } : {};
  return { ...nodeSelector, ...(matchExpressions === undefined ? {} : { matchExpressions }) };
}

/** Each pool has a key of its own, which running processes have not known before. */
function annotationsOf(name: string, value: string, random: Random): Record<string, string> {
  return {
    note: `${name}, "${value}"`,
    ...(random() < 0.5 ? { shared: name } : {}),
    ...(random() < 0.5 ? { [`only-${name}`]: value } : {}),
  };
}

function maybe<T>(from: readonly T[], random: Random): T | undefined {
  return from[Math.floor(random() * from.length)];
}
