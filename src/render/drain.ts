/** What is said of nodes that are closed, opened and drained, in kubectl's words where it has some. */
import type { CordonResult } from '../operations/cordon.ts';
import type { DrainEvent } from '../operations/drain.ts';
import type { NodeDrain } from '../operations/drain-node.ts';
import { shorten } from './cells.ts';
import { sanitizeLine } from './sanitize.ts';
import type { Style } from './style.ts';
import { type Cell, renderTable } from './table.ts';

/** A line for stdout, for stderr, or an error: who prints knows how. */
export type DrainLine =
  | { to: 'out' | 'err'; text: string }
  | { to: 'error'; message: string; next?: string | undefined };

export interface DrainWords {
  /** Pods are deleted, not evicted. */
  disableEviction: boolean;
  /** Follows what is said, as ` (dry run)`. */
  suffix: string;
}

/** The longest reason in a table's row or the spinner's line, and in a line of its own: its end matters least. */
const NOTE_WIDTH = 90;
const REASON_WIDTH = 1000;
/** Nodes under way that are named in the spinner's line. */
const MOST_NODES = 2;

/** `node/x cordoned`; nothing of a node that is gone. */
export function cordonLine(result: CordonResult, unschedulable: boolean, suffix: string): DrainLine {
  const verb = unschedulable ? 'cordon' : 'uncordon';
  const name = sanitizeLine(result.node);
  switch (result.kind) {
    case 'changed':
      return { to: 'out', text: `node/${name} ${verb}ed${suffix}` };
    case 'already':
      return { to: 'out', text: `node/${name} already ${verb}ed${suffix}` };
    case 'gone':
      return { to: 'err', text: `node/${name} is gone` };
    case 'failed':
      return unable(verb, name, result.error);
  }
}

/** What happens to a single pod is for people who watch without a spinner. */
export function drainLine(event: DrainEvent, { disableEviction, suffix }: DrainWords): DrainLine {
  switch (event.kind) {
    case 'cordon':
      return cordonLine(event.result, true, suffix);
    case 'asking':
      return { to: 'err', text: `${disableEviction ? 'deleting' : 'evicting'} pod ${event.pod}${suffix}` };
    case 'gone':
      return { to: 'err', text: `pod ${event.pod} ${disableEviction ? 'deleted' : 'evicted'}${suffix}` };
    case 'stuck':
      return { to: 'err', text: `pod ${event.pod} has been terminating for too long, skipping` };
    case 'held':
      return { to: 'err', text: `pod ${event.pod} on node ${event.node} waits for ${oneLine(event.why)}${suffix}` };
    case 'drained':
      return { to: 'out', text: `node/${sanitizeLine(event.node)} drained${suffix}` };
    case 'failed':
      return unable('drain', event.node, event.error);
  }
}

function unable(
  verb: string,
  node: string,
  { message, next }: { message: string; next: string | undefined },
): DrainLine {
  return { to: 'error', message: `unable to ${verb} node "${node}": ${message}`, next };
}

/** The spinner's line: `Draining worker: 2/5 nodes; node-3 4/10 pods, 2 wait for …`. */
export function drainProgress(pool: string, drains: readonly NodeDrain[]): string {
  const drained = drains.filter(({ phase }) => phase === 'drained').length;
  const underWay = drains.filter(({ phase }) => phase === 'under way');
  const parts = underWay.slice(0, MOST_NODES).map(({ node, gone, pods, held }) => {
    const waits =
      held.size === 0 ? '' : `, ${held.size} ${held.size === 1 ? 'waits' : 'wait'} for ${firstReason(held)}`;
    return `; ${node} ${gone}/${pods} pods${waits}`;
  });
  const more = underWay.length - MOST_NODES;
  if (more > 0) parts.push(`; and ${more} more`);
  return sanitizeLine(`Draining ${pool}: ${drained}/${drains.length} nodes${parts.join('')}`);
}

/** Every node, how far it is and what it waits for. */
export function renderDrains(drains: readonly NodeDrain[], style: Style): string {
  const rows = drains.map((drain): Cell[] => {
    const { node, phase, pods, gone, held } = drain;
    const note =
      held.size === 0 ? '' : `${held.size} ${held.size === 1 ? 'pod waits' : 'pods wait'} for ${firstReason(held)}`;
    return [node, { text: phase, paint: paintOf(drain, style) }, `${gone}/${pods}`, note];
  });
  return renderTable(['NODE', 'STATE', 'PODS GONE', 'NOTE'], rows);
}

function paintOf({ phase }: NodeDrain, style: Style): (text: string) => string {
  return { drained: style.green, failed: style.red, 'under way': style.yellow, 'not begun': style.dim }[phase];
}

function firstReason(held: ReadonlyMap<string, string>): string {
  const [reason = ''] = held.values();
  return shorten(reason, NOTE_WIDTH);
}

/** A webhook may write what it likes, in as many lines as it likes. */
function oneLine(reason: string): string {
  return sanitizeLine(shorten(reason, REASON_WIDTH));
}
