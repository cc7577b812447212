/** Random commands, as a person or a script would type them. */
import { evicting } from './evicted-pods.ts';
import { pick, type Random, weighted } from './random.ts';

/** Names that commands and other writers share; the last two are those of `adopt --label group`. */
export const POOLS = ['pool-1', 'pool-2', 'pool-3', 'pool-4', 'g1', 'g2'];
export const GROUPS = ['g1', 'g2'];
const HANDLERS = ['runc', 'gvisor', 'kata'];
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

export interface Command {
  args: string[];
  /** The manifest on its stdin. */
  stdin?: string;
  /** Milliseconds after its start; undefined lets it finish. */
  killAfterMs: number | undefined;
  /** Milliseconds before the next one. */
  pauseMs: number;
}

const KILLED_SHARE = 0.35;
/** A command run from sources has started up after about a third of it. */
const LATEST_KILL_MS = 1_500;
const MAX_PAUSE_MS_LENGTH = 600;

/** The next command; draws every random number even if unused, so that choices depend on the seed alone. */
export function nextCommand(random: Random, nodes: readonly string[]): Command {
  const make = weighted(random, COMMANDS);
  const command = make(random, nodes);
  const [isKilled, at, pause] = [random() < KILLED_SHARE, random() * LATEST_KILL_MS, random() * MAX_PAUSE_MS_LENGTH];
  return { ...command, killAfterMs: isKilled ? at : undefined, pauseMs: pause };
}

type Make = (random: Random, nodes: readonly string[]) => Pick<Command, 'args' | 'stdin'>;

const COMMANDS: [weight: number, make: Make][] = [
  [8, create],
  [2, createFromFile],
  [8, edit],
  [6, reconcile],
  [3, random => ({ args: ['delete', pick(random, POOLS), '--yes', ...maybe(random, 0.3, '--detach-nodes')] })],
  [6, (random, nodes) => ({ args: ['add', pick(random, POOLS), ...some(random, nodes), '--yes'] })],
  [4, (random, nodes) => ({ args: ['remove', pick(random, POOLS), ...some(random, nodes), '--yes'] })],
  [5, (random, nodes) => ({ args: ['move', ...some(random, nodes), '--to', pick(random, POOLS), '--yes'] })],
  [2, random => ({ args: ['move', '--from', pick(random, POOLS), '--to', pick(random, POOLS), '--yes'] })],
  [2, () => ({ args: ['adopt', '--label', 'group', '--create', '--yes'] })],
  [1, random => ({ args: ['cordon', pick(random, POOLS)] })],
  [1, random => ({ args: ['uncordon', pick(random, POOLS), '--yes'] })],
  [1, () => ({ args: ['install'] })],
];

function create(random: Random, nodes: readonly string[]) {
  const pool = pick(random, POOLS);
  const { labels, taint, evicting, handler, selector, annotations, startup } = draw(random, pool);
  const [members, now, strips] = [some(random, nodes), random() < 0.5, random() < 0.15];
  const args = ['create', pool, ...labels.flatMap(label => ['--label', label])];
  if (taint !== undefined) args.push('--taint', taint);
  args.push(...evicting);
  if (handler !== undefined) args.push('--handler', handler);
  if (selector !== undefined) args.push('--node-selector', selector);
  args.push(...annotations.flatMap(annotation => ['--annotation', annotation]));
  if (startup !== undefined) args.push('--startup-taint', startup);
  if (strips) args.push('--unmanaged', 'Remove');
  if (random() < 0.5) args.push('--nodes', members.join(','));
  return { args: [...args, '--yes', ...(now ? ['--reconcile'] : [])] };
}

function createFromFile(random: Random) {
  const pools = [pick(random, POOLS), pick(random, POOLS)].map(name => ({
    apiVersion: 'nodes.lailin.xyz/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: {
      annotations: { note: 'file' },
      labels: { tier: `${name}-file` },
      taints: [{ key: name, value: 'file', effect: 'NoSchedule' }],
      startupTaints: [{ key: 'setup', value: 'file', effect: 'NoSchedule' }],
    },
  }));
  return {
    args: ['create', '-f', '-', '--yes'],
    stdin: JSON.stringify({ kind: 'List', apiVersion: 'v1', items: pools }),
  };
}

function edit(random: Random) {
  const pool = pick(random, POOLS);
  const { labels, taint, evicting, handler, selector, annotations, startup } = draw(random, pool);
  const args = weighted(random, [
    [3, annotations.flatMap(annotation => ['--annotation', annotation])],
    [1, ['--annotation', 'note-', '--annotation', 'shared-']],
    [4, labels.flatMap(label => ['--label', label])],
    [2, ['--label', `only-${pool}-`]],
    [2, ['--taint', taint ?? `${pool}:NoSchedule-`]],
    [3, evicting.length > 0 ? evicting : ['--taint', 'evicts:NoExecute-']],
    [2, ['--startup-taint', startup ?? 'setup-']],
    [2, ['--handler', handler ?? '']],
    [1, ['--node-selector', selector ?? 'group-']],
    [1, ['--label', 'tier-']],
    [1, ['--unmanaged', random() < 0.5 ? 'Remove' : 'Keep']],
  ]);
  return { args: ['edit', pool, ...args, '--yes'] };
}

function reconcile(random: Random) {
  const pool = pick(random, POOLS);
  const args = weighted(random, [
    [3, []],
    [2, [pool]],
    [1, ['--dry-run']],
  ]);
  return { args: ['reconcile', ...args, '--yes'] };
}

/** Labels of specs; every node is created with `team`, so that a pool displaces it. */
function draw(random: Random, pool: string) {
  const value = String(Math.floor(random() * 3));
  const labels = [`tier=${pool}-${value}`];
  if (random() < 0.5) labels.push(`only-${pool}=${pool}-${value}`);
  if (random() < 0.3) labels.push(`team=${pool}`);
  const effect = pick(random, EFFECTS);
  const [hasTaint, hasHandler, handler] = [random() < 0.7, random() < 0.4, pick(random, HANDLERS)];
  const { taint, noExecute } = evicting(`${pool}-${value}`);
  const evicts = random() < 0.4;
  const [hasSelector, group] = [random() < 0.35, pick(random, GROUPS)];
  const selector = pick(random, [
    `group=${group}`,
    `group in (${group},other)`,
    `group,group notin (${group})`,
    `!group,node-role.kubernetes.io/${pool}`,
    '!group',
  ]);
  return {
    labels,
    taint: hasTaint ? `${pool}=v${value}:${effect}` : undefined,
    /** Of a pool that evicts before it sets the taint. No command takes `noExecute: Drain` back. */
    evicting: evicts ? ['--taint', `${taint.key}=${taint.value}:${taint.effect}`, '--noexecute', `${noExecute}`] : [],
    handler: hasHandler ? handler : undefined,
    selector: hasSelector ? selector : undefined,
    annotations: [`note=${pool}, "${value}"`, ...(random() < 0.5 ? [`shared=${pool}`] : [])],
    startup: random() < 0.6 ? `setup=${pool}:NoSchedule,agent=v${value}:NoExecute,until=AgentReady` : undefined,
  };
}

function some(random: Random, nodes: readonly string[]): string[] {
  return [...new Set([pick(random, nodes), pick(random, nodes), pick(random, nodes)])];
}

function maybe(random: Random, share: number, ...args: string[]): string[] {
  return random() < share ? args : [];
}
