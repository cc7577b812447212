/** The result of `drain` for a pool, and what to do about nodes that are left. */
import { showError, showWarning } from '../../cli/error-line.ts';
import type { Deps } from '../../cli/factory.ts';
import { dryRunSuffix } from '../../cli/flags.ts';
import { EXIT } from '../../cli/report-error.ts';
import type { DryRun } from '../../kube/cluster.ts';
import { type DrainPod, groupByOutcome, podName } from '../../nodepool/drain/drain-filters.ts';
import { toleratesCordon } from '../../nodepool/drain/placement.ts';
import { warningText } from '../../nodepool/errors.ts';
import { firstFew, plural } from '../../nodepool/text.ts';
import { poolRef } from '../../print/sanitize.ts';
import { makeStyle } from '../../print/style.ts';
import type { NodeDrain, PoolDrain } from './options.ts';
import type { PlannedPool } from './plan-drain.ts';
import { renderDrains } from './print.ts';

interface End {
  interrupted: boolean;
  dryRun: DryRun;
  /** Nodes that this run cordoned, of all pools. */
  cordoned: ReadonlySet<string>;
}

/** Prints the result as a line, or as a table where nodes are left to drain after a real run; returns the exit code. */
export function report(
  { pool, drains, returned = [] }: PoolDrain,
  planned: PlannedPool | undefined,
  { interrupted, dryRun, cordoned }: End,
  { io }: Deps,
): number {
  if (returned.length > 0) {
    const message = groupByOutcome(
      returned.map(pod => ({ what: 'pods run on drained nodes', pod: podName(pod) })),
    ).join();
    showWarning(
      io,
      warningText({ message, next: 'scale their controllers down, or remove their toleration of a cordon' }),
    );
  }
  const left = drains.filter(({ phase }) => phase !== 'drained');
  if (left.length === 0) {
    const pods = drains.reduce((sum, { gone }) => sum + gone, 0);
    const what = `${plural(drains.length, 'node')}, ${plural(pods, 'pod')}`;
    io.out(`${poolRef(pool)} drained (${what})${remainText(drains, returned)}${dryRunSuffix(dryRun)}`);
    return EXIT.done;
  }
  const isFull = !interrupted && left.some(({ phase }) => phase === 'not begun');
  const why = isFull ? '; --max-unavailable is used up by members that failed or are not Ready' : '';
  if (dryRun !== 'none' && !interrupted) {
    const pods = drains.reduce((sum, each) => sum + each.pods, 0);
    const remaining = drains.reduce((sum, each) => sum + each.pods - each.gone, 0);
    const what = `${left.length} of ${plural(drains.length, 'node')} and ${remaining} of ${plural(pods, 'pod')} left to drain`;
    io.out(`${poolRef(pool)} not drained: ${what}${why}${dryRunSuffix(dryRun)}`);
    return EXIT.error;
  }
  io.out(renderDrains(drains, makeStyle(io.color), io.stdoutIsTTY));
  const how = interrupted ? 'interrupted' : 'not drained';
  const message = `nodepool "${pool}" ${how}: ${left.length} of ${plural(drains.length, 'node')} left to drain${why}`;
  const hint = dryRun === 'none' ? uncordonHint(planned, cordoned, drains) : '';
  showError(io, { message, next: nextStep(left, planned, hint) });
  return interrupted ? EXIT.interrupted : EXIT.error;
}

/** Nodes in the maintenance of others stay so however often the command runs. */
function nextStep(left: readonly NodeDrain[], planned: PlannedPool | undefined, hint: string): string {
  const others = new Set(
    planned?.nodes.flatMap(({ node, inOthersMaintenance }) => (inOthersMaintenance ? [node.name] : [])),
  );
  const held = left.filter(({ node }) => others.has(node)).length;
  if (held === left.length && held > 0) return 'ask the owner of the maintenance, or use --takeover';
  const takeover = held === 0 ? '' : ', with --takeover also the nodes in maintenance of others';
  return `run the command again to continue${takeover}${hint}`;
}

/** `; 3 pods that tolerate a cordon came back; 1 pod is still terminating: ns/p` */
function remainText(drains: readonly NodeDrain[], returned: readonly DrainPod[]): string {
  const { cordon = [], other = [] } = Object.groupBy(returned, ({ placement }) =>
    toleratesCordon(placement) ? 'cordon' : 'other',
  );
  const terminating = drains.flatMap(each => [...(each.terminating ?? [])]);
  const are = terminating.length === 1 ? 'is' : 'are';
  return [
    ...(cordon.length === 0
      ? []
      : [`${plural(cordon.length, 'pod')} that ${cordon.length === 1 ? 'tolerates' : 'tolerate'} a cordon came back`]),
    ...(other.length === 0 ? [] : [`${plural(other.length, 'pod')} came since`]),
    ...(terminating.length === 0
      ? []
      : [`${plural(terminating.length, 'pod')} ${are} still terminating: ${firstFew(terminating, MAX_NAMED)}`]),
  ]
    .map(text => `; ${text}`)
    .join('');
}

/** Of pods that are still terminating. */
const MAX_NAMED = 10;

/** More would not fit on a command line that somebody reads. */
const MAX_NODES = 20;

/** Of the nodes that this run cordoned, or found cordoned where it cordoned none: by an earlier run, mostly. */
function uncordonHint(
  planned: PlannedPool | undefined,
  cordoned: ReadonlySet<string>,
  drains: readonly NodeDrain[],
): string {
  const replaced = new Set(drains.flatMap(({ node, isReplaced }) => (isReplaced ? [node] : [])));
  const { pool, nodes: all, otherMembers } = planned ?? { pool: '', nodes: [], otherMembers: [] };
  const nodes = all.filter(({ node, inOthersMaintenance }) => inOthersMaintenance !== true && !replaced.has(node.name));
  const changed = nodes.filter(({ node }) => cordoned.has(node.name));
  const which = cordoned.size > 0 ? 'it cordoned' : 'were cordoned before';
  const closed = cordoned.size > 0 ? changed : nodes.filter(({ node }) => node.unschedulable);
  if (closed.length === 0) return '';
  const isAll = otherMembers.length === 0 && closed.length === all.length;
  const names = closed.map(({ node }) => node.name).toSorted();
  const few = names.length <= MAX_NODES ? names.map(name => ` --node ${name}`) : [];
  const note = isAll || few.length > 0 ? '' : ` (${plural(names.length, 'node')}: see above)`;
  return `, or make the nodes that ${which} schedulable again: \`kubectl nodepool uncordon ${pool}${isAll ? '' : few.join('')}\`${note}`;
}
