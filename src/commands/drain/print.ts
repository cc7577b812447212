/** Messages and tables of `drain`, in kubectl's words where it has some. */
import type { DrainPace } from '../../nodepool/drain/drain-slots.ts';
import { andMore, firstFew, plural } from '../../nodepool/text.ts';
import { shorten } from '../../print/cells.ts';
import { sanitizeLine } from '../../print/sanitize.ts';
import type { Style } from '../../print/style.ts';
import { type Cell, renderTable } from '../../print/table.ts';
import { formatDuration } from '../../print/time.ts';
import { cordonLine, type NodeLine, unable } from '../shared/cordon/print-cordon.ts';
import { evictionLine, REASON_WIDTH } from '../shared/reconcile/eviction-line.ts';
import type { DrainChoice, DrainEvent, NodeDrain } from './options.ts';
import type { PlannedPool } from './plan-drain.ts';

export interface DrainWords {
  /** Pods are deleted, not evicted. */
  disableEviction: boolean;
  /** Of each message, as ` (dry run)`. */
  suffix: string;
}

/** Characters of a reason in a table on a terminal, or the spinner. */
const NOTE_WIDTH = 90;
/** Nodes named in the spinner's line. */
const MAX_NODES = 2;
/** What the pods of one node wait for. */
const MAX_REASONS = 3;

export function drainLine(event: DrainEvent, { disableEviction, suffix }: DrainWords): NodeLine {
  switch (event.kind) {
    case 'cordon':
      return cordonLine(event.result, true, suffix);
    case 'asking':
      return { to: 'err', text: `${disableEviction ? 'deleting' : 'evicting'} pod ${event.pod}${suffix}` };
    case 'gone':
      return { to: 'err', text: `pod ${event.pod} ${disableEviction ? 'deleted' : 'evicted'}${suffix}` };
    case 'warning':
      return { to: 'err', text: `warning: ${sanitizeLine(event.text)}` };
    case 'stuck':
      return { to: 'err', text: `pod ${event.pod} has been terminating for too long, skipping` };
    case 'held':
      return { to: 'err', text: evictionLine(event) + suffix };
    case 'drained':
      return { to: 'out', text: `node/${sanitizeLine(event.node)} drained${backText(event.returned)}${suffix}` };
    case 'waits':
      return {
        to: 'out',
        text: `node/${sanitizeLine(event.node)} not drained: ${sanitizeLine(waiting(event.held, REASON_WIDTH))}${suffix}`,
      };
    case 'left': {
      const { node, pool, isCordoned } = event;
      const next = isCordoned ? `\`kubectl uncordon ${node}\` makes it schedulable again` : undefined;
      return unable('drain', node, { message: `it is no longer a member of nodepool ${pool}`, next });
    }
    case 'replaced': {
      const message = 'it was deleted during the drain, and another node has its name now';
      return unable('drain', event.node, { message, next: 'run the command again to drain that one' });
    }
    case 'failed':
      return unable('drain', event.node, event.error);
  }
}

function backText(pods: number): string {
  return pods === 0 ? '' : `, ${plural(pods, 'pod')} came back`;
}

/** On a terminal, what is waited for is yellow, and what is done green. */
export function drainColor({ kind }: DrainEvent): 'yellow' | 'green' | undefined {
  if (kind === 'held' || kind === 'stuck' || kind === 'waits') return 'yellow';
  return kind === 'drained' ? 'green' : undefined;
}

/** What is about to be done: `Draining 3 nodes of pool worker, 1 at a time; all are cordoned first. Timeout for each node: 15m.` */
export function drainHeading(
  { pool, nodes }: Pick<PlannedPool, 'pool' | 'nodes'>,
  { pace, isRolling, timeoutMs }: Pick<DrainChoice, 'isRolling' | 'timeoutMs'> & { pace: DrainPace },
): string {
  const rate =
    pace.kind === 'parallel'
      ? `${pace.nodes} at a time`
      : `while at most ${plural(pace.nodes, 'member')} ${pace.nodes === 1 ? 'is' : 'are'} unavailable`;
  const cordon = isRolling ? 'each is cordoned right before' : 'all are cordoned first';
  const drained = nodes.filter(({ inOthersMaintenance }) => inOthersMaintenance !== true);
  const limit = timeoutMs === 0 ? 'none' : timeoutMs < 1000 ? `${timeoutMs}ms` : formatDuration(timeoutMs);
  return sanitizeLine(
    `Draining ${plural(drained.length, 'node')} of pool ${pool}, ${rate}; ${cordon}. Timeout for each node: ${limit}.`,
  );
}

/** The spinner's line: `Draining worker: 2/5 nodes; node-3 4/10 pods, 2 wait for …`. */
export function drainProgress(pool: string, drains: readonly NodeDrain[]): string {
  const drained = drains.filter(({ phase }) => phase === 'drained').length;
  const underWay = drains.filter(({ phase }) => phase === 'under way');
  const parts = underWay.slice(0, MAX_NODES).map(({ node, gone, pods, held }) => {
    return `; ${node} ${gone}/${plural(pods, 'pod')}${held.size === 0 ? '' : `, ${waiting(held, NOTE_WIDTH)}`}`;
  });
  parts.push(andMore(underWay.length - MAX_NODES, '; '));
  return sanitizeLine(`Draining ${pool}: ${drained}/${plural(drains.length, 'node')}${parts.join('')}`);
}

/** A line for each node: state, evicted pods, and why pods are not evicted yet. @param isTerminal a long reason is cut */
export function renderDrains(drains: readonly NodeDrain[], style: Style, isTerminal: boolean): string {
  const rows = drains.map((drain): Cell[] => {
    const { node, phase, pods, gone, held } = drain;
    const note = held.size === 0 ? '' : waiting(held, isTerminal ? NOTE_WIDTH : REASON_WIDTH);
    return [node, { text: phase, paint: paintOf(drain, style) }, `${gone}/${pods}`, note];
  });
  return renderTable([['NODE', 'STATE', 'PODS GONE', 'NOTE'], ...rows]);
}

function paintOf({ phase }: NodeDrain, style: Style): (text: string) => string {
  const { green, red, yellow, dim } = style;
  return { drained: green, failed: red, 'under way': yellow, waits: yellow, 'not begun': dim }[phase];
}

/** `2 pods wait for PodDisruptionBudget ml/never: …, 1 pod waits for PodDisruptionBudget ml/one: …`, most pods first. */
function waiting(held: NodeDrain['held'], width: number): string {
  // What follows the colon counts healthy pods, and differs from one refusal to the next.
  const groups = [...Map.groupBy(held.values(), ({ why }) => why.split(':', 1)[0]).values()];
  const texts = groups
    .toSorted((a, b) => b.length - a.length)
    .map(([first, ...same]) => {
      const count = same.length + 1;
      return `${plural(count, 'pod')} ${count === 1 ? 'waits' : 'wait'} for ${shorten(first?.why ?? '', width)}`;
    });
  return firstFew(texts, MAX_REASONS);
}
