import { EXIT, showError, showNote, showWarning } from '../../cli/errors.ts';
import type { Deps } from '../../cli/factory.ts';
import { dryRunSuffix } from '../../cli/flags.ts';
import { terminalWidth } from '../../cli/io.ts';
import type { DryRun } from '../../kube/cluster.ts';
import { type DrainPod, groupByOutcome, podName } from '../../nodepool/drain/drain-filters.ts';
import type { DrainPace } from '../../nodepool/drain/drain-slots.ts';
import { toleratesCordon } from '../../nodepool/drain/placement.ts';
import { warningText } from '../../nodepool/errors.ts';
import { andMore, firstFew, plural } from '../../nodepool/text.ts';
import { shorten } from '../../print/cells.ts';
import { type Column, fittedRows } from '../../print/fit-columns.ts';
import { poolRef, sanitizeLine } from '../../print/sanitize.ts';
import { makeStyle, type Style } from '../../print/style.ts';
import { tablePrinter } from '../../print/table.ts';
import { formatDuration } from '../../print/time.ts';
import { cordonError, cordonLine, MAX_COMMAND_NODES, type NodeLine } from '../shared/cordon/print-cordon.ts';
import { evictionLine, WAIT_WIDTH } from '../shared/reconcile/reconcile-deps.ts';
import type { DrainChoice, DrainEvent, NodeDrainState, PoolDrainState } from './options.ts';
import type { PlannedPool } from './plan-drain.ts';

export interface DrainWords {
  /** Pods are deleted, not evicted. */
  disableEviction: boolean;
  /** The end of each message, such as ` (dry run)`. */
  suffix: string;
}

/** Maximum characters of a reason in the spinner's line. */
const NOTE_WIDTH = 90;
/** Maximum number of nodes named in the spinner's line. */
const MAX_SPINNER_NODES = 2;
/** Maximum number of reasons why the pods of one node wait. */
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
    case 'blocked':
      return { to: 'err', text: evictionLine(event) + suffix };
    case 'drained':
      return { to: 'out', text: `node/${sanitizeLine(event.node)} drained${backText(event.returned)}${suffix}` };
    case 'waits':
      return {
        to: 'out',
        text: `node/${sanitizeLine(event.node)} not drained: ${sanitizeLine(waitingText(event.blockedPods, WAIT_WIDTH))}${suffix}`,
      };
    case 'left': {
      const { node, pool, isCordoned } = event;
      const next = isCordoned ? `\`kubectl uncordon ${node}\` makes the node schedulable again` : undefined;
      return cordonError('drain', node, { message: `the node is no longer a member of pool ${pool}`, next });
    }
    case 'replaced': {
      const message = 'the node was deleted during the drain; a new node has the same name';
      return cordonError('drain', event.node, { message, next: 'run the command again to drain the new node' });
    }
    case 'failed':
      return cordonError('drain', event.node, event.error);
  }
}

function backText(pods: number): string {
  return pods === 0 ? '' : `, ${plural(pods, 'pod')} came back`;
}

/** On a terminal, waiting is yellow and completed work green. */
export function drainColor({ kind }: DrainEvent): 'yellow' | 'green' | undefined {
  if (kind === 'blocked' || kind === 'stuck' || kind === 'waits') return 'yellow';
  return kind === 'drained' ? 'green' : undefined;
}

/** `Draining 3 nodes of pool worker, 1 at a time; all nodes are cordoned first. Timeout for each node: 15m.` */
export function drainHeading(
  { pool, nodes }: Pick<PlannedPool, 'pool' | 'nodes'>,
  { pace, isRolling, timeoutMs }: Pick<DrainChoice, 'isRolling' | 'timeoutMs'> & { pace: DrainPace },
): string {
  const most = pace.kind === 'parallel' ? '' : 'at most ';
  const failed = pace.kind === 'parallel' ? '' : ', including failed and NotReady nodes';
  const cordon = isRolling
    ? 'each node is cordoned right before its drain and stays cordoned'
    : 'all nodes are cordoned first';
  const drained = nodes.filter(({ inOthersMaintenance }) => inOthersMaintenance !== true);
  const limit = timeoutMs === 0 ? 'none' : timeoutMs < 1000 ? `${timeoutMs}ms` : formatDuration(timeoutMs);
  return sanitizeLine(
    `Draining ${plural(drained.length, 'node')} of pool ${pool}, ${most}${pace.nodes} at a time${failed}; ${cordon}. Timeout for each node: ${limit}.`,
  );
}

/** The spinner's line: `Draining worker: 2/5 nodes; node-3 4/10 pods, 2 wait for …`. */
export function drainProgress(pool: string, drains: readonly NodeDrainState[]): string {
  const drained = drains.filter(({ phase }) => phase === 'drained').length;
  const underWay = drains.filter(({ phase }) => phase === 'in progress');
  const parts = underWay.slice(0, MAX_SPINNER_NODES).map(({ node, gone, pods, blockedPods }) => {
    return `; ${node} ${gone}/${plural(pods, 'pod')}${blockedPods.size === 0 ? '' : `, ${waitingText(blockedPods, NOTE_WIDTH)}`}`;
  });
  parts.push(andMore(underWay.length - MAX_SPINNER_NODES, '; '));
  return sanitizeLine(`Draining ${pool}: ${drained}/${plural(drains.length, 'node')}${parts.join('')}`);
}

/** A line for each node: state, evicted pods, and why pods wait. @param terminalWidth fits the table into it */
export function renderDrains(drains: readonly NodeDrainState[], style: Style, terminalWidth?: number): string {
  const columns: Column<NodeDrainState>[] = [
    { header: 'NODE', cell: ({ node }) => node, cutFrom: 0, isName: true },
    { header: 'STATE', cell: drain => ({ text: drain.phase, paint: paintOf(drain, style) }) },
    { header: 'EVICTED', cell: ({ gone, pods }) => `${gone}/${pods}` },
    {
      header: 'NOTE',
      cell: ({ blockedPods }) => (blockedPods.size === 0 ? '' : waitingText(blockedPods, WAIT_WIDTH)),
      isText: true,
    },
  ];
  const { header, cells } = fittedRows(columns, drains, terminalWidth);
  return tablePrinter(header, terminalWidth)(cells);
}

function paintOf({ phase }: NodeDrainState, style: Style): (text: string) => string {
  const { green, red, yellow, dim } = style;
  return { drained: green, failed: red, 'in progress': yellow, waits: yellow, pending: dim }[phase];
}

/** `2 pods wait for PodDisruptionBudget ml/never: …, 1 pod waits for PodDisruptionBudget ml/one: …`; most first. */
function waitingText(blockedPods: NodeDrainState['blockedPods'], width: number): string {
  // The text after the colon counts healthy pods and differs between refusals.
  const groups = [...Map.groupBy(blockedPods.values(), ({ why }) => why.split(':', 1)[0]).values()];
  const texts = groups
    .toSorted((a, b) => b.length - a.length)
    .map(([first, ...same]) => {
      const count = same.length + 1;
      return `${plural(count, 'pod')} ${count === 1 ? 'waits' : 'wait'} for ${shorten(first?.why ?? '', width)}`;
    });
  return firstFew(texts, MAX_REASONS);
}

interface DrainEnd {
  interrupted: boolean;
  dryRun: DryRun;
  /** Nodes of any pool that this run cordoned. */
  cordoned: ReadonlySet<string>;
}

/** Prints the result as a line, or as a table if a real run left nodes undrained; returns the exit code. */
export function showDrainResult(
  { pool, drains, returned = [] }: PoolDrainState,
  planned: PlannedPool | undefined,
  { interrupted, dryRun, cordoned }: DrainEnd,
  { io }: Deps,
): number {
  if (returned.length > 0) {
    const message = groupByOutcome(
      returned.map(pod => ({ what: 'pods run on drained nodes', pod: podName(pod) })),
    ).join();
    showWarning(
      io,
      warningText({
        message,
        next: 'scale down their controllers, or remove the toleration of a cordon from the pods',
      }),
    );
  }
  const undrained = drains.filter(({ phase }) => phase !== 'drained');
  if (undrained.length === 0) {
    const pods = drains.reduce((sum, { gone }) => sum + gone, 0);
    const what = `${plural(drains.length, 'node')}, ${plural(pods, 'pod')}`;
    io.out(`${poolRef(pool)} drained (${what})${remainText(drains, returned)}${dryRunSuffix(dryRun)}`);
    return EXIT.done;
  }
  const isFull = !interrupted && undrained.some(({ phase }) => phase === 'pending');
  const why = isFull ? '; members that failed or are not Ready use up --max-unavailable' : '';
  if (dryRun !== 'none' && !interrupted) {
    const pods = drains.reduce((sum, each) => sum + each.pods, 0);
    const remaining = drains.reduce((sum, each) => sum + each.pods - each.gone, 0);
    const what = `${undrained.length} of ${plural(drains.length, 'node')} and ${remaining} of ${plural(pods, 'pod')} left to drain`;
    io.out(`${poolRef(pool)} not drained: ${what}${why}${dryRunSuffix(dryRun)}`);
    return EXIT.error;
  }
  io.out(renderDrains(drains, makeStyle(io.color), terminalWidth(io)));
  const how = interrupted ? 'interrupted' : 'not drained';
  const message = `nodepool "${pool}" ${how}: ${undrained.length} of ${plural(drains.length, 'node')} left to drain${why}`;
  const hint = dryRun === 'none' ? uncordonHint(planned, cordoned, drains) : '';
  const untouched = untouchedText(planned, cordoned, drains);
  if (dryRun === 'none' && untouched !== undefined) showNote(io, untouched);
  showError(io, { message, next: nextAfterFailure(undrained, planned, hint) });
  return interrupted ? EXIT.interrupted : EXIT.error;
}

/** Running the command again does not help for nodes under maintenance by others. */
function nextAfterFailure(
  undrained: readonly NodeDrainState[],
  planned: PlannedPool | undefined,
  hint: string,
): string {
  const others = new Set(
    planned?.nodes.flatMap(({ node, inOthersMaintenance }) => (inOthersMaintenance ? [node.name] : [])),
  );
  const inMaintenance = undrained.filter(({ node }) => others.has(node)).length;
  if (inMaintenance === undrained.length && inMaintenance > 0)
    return 'ask the owner of the maintenance, or use --takeover';
  const takeover = inMaintenance === 0 ? '' : '; use --takeover for nodes under maintenance by others';
  return `run the command again to continue${takeover}${hint}`;
}

/** `; 3 pods that tolerate a cordon came back; 1 pod is still terminating: ns/p` */
function remainText(drains: readonly NodeDrainState[], returned: readonly DrainPod[]): string {
  const { cordon = [], other = [] } = Object.groupBy(returned, ({ placement }) =>
    toleratesCordon(placement) ? 'cordon' : 'other',
  );
  const terminating = drains.flatMap(each => [...(each.terminating ?? [])]);
  const are = terminating.length === 1 ? 'is' : 'are';
  return [
    ...(cordon.length === 0
      ? []
      : [`${plural(cordon.length, 'pod')} that ${cordon.length === 1 ? 'tolerates' : 'tolerate'} a cordon came back`]),
    ...(other.length === 0 ? [] : [`${plural(other.length, 'pod')} arrived after the drain`]),
    ...(terminating.length === 0
      ? []
      : [`${plural(terminating.length, 'pod')} ${are} still terminating: ${firstFew(terminating, MAX_NAMED)}`]),
  ]
    .map(text => `; ${text}`)
    .join('');
}

/** Maximum number of terminating pods, and of nodes, that are named. */
const MAX_NAMED = 10;

/** Undefined if no node was left untouched; only a rolling drain leaves nodes untouched. */
function untouchedText(
  planned: PlannedPool | undefined,
  cordoned: ReadonlySet<string>,
  drains: readonly NodeDrainState[],
): string | undefined {
  const notBegun = new Set(drains.flatMap(({ node, phase }) => (phase === 'pending' ? [node] : [])));
  const nodes = (planned?.nodes ?? []).map(({ node }) => node);
  const untouched = nodes.filter(
    ({ name, unschedulable }) => notBegun.has(name) && !unschedulable && !cordoned.has(name),
  );
  if (untouched.length === 0) return undefined;
  const closed = nodes.filter(({ name, unschedulable }) => unschedulable || cordoned.has(name));
  const text = (found: readonly { name: string }[], state: string) =>
    found.length === 0
      ? []
      : [
          `${plural(found.length, 'node')} ${state}: ${firstFew(
            found.map(({ name }) => name),
            MAX_NAMED,
          )}`,
        ];
  return sanitizeLine([...text(closed, 'cordoned'), ...text(untouched, 'untouched and schedulable')].join('; '));
}

/** For nodes that this run cordoned; if none, for nodes that it found cordoned, usually by an earlier run. */
function uncordonHint(
  planned: PlannedPool | undefined,
  cordoned: ReadonlySet<string>,
  drains: readonly NodeDrainState[],
): string {
  const replaced = new Set(drains.flatMap(({ node, isReplaced }) => (isReplaced ? [node] : [])));
  const { pool, nodes: all, otherMembers } = planned ?? { pool: '', nodes: [], otherMembers: [] };
  const nodes = all.filter(({ node, inOthersMaintenance }) => inOthersMaintenance !== true && !replaced.has(node.name));
  const changed = nodes.filter(({ node }) => cordoned.has(node.name));
  const which = cordoned.size > 0 ? 'this drain cordoned' : 'were cordoned before';
  const closed = cordoned.size > 0 ? changed : nodes.filter(({ node }) => node.unschedulable);
  if (closed.length === 0) return '';
  const isAll = otherMembers.length === 0 && closed.length === all.length;
  const names = closed.map(({ node }) => node.name).toSorted();
  const few = names.length <= MAX_COMMAND_NODES ? names.map(name => ` --node ${name}`) : [];
  const note = isAll || few.length > 0 ? '' : ` (${plural(names.length, 'node')}: see above)`;
  return `; to make the nodes that ${which} schedulable again: \`kubectl nodepool uncordon ${pool}${isAll ? '' : few.join('')}\`${note}`;
}
