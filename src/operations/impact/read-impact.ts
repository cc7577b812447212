/** Reads what the impact of a change is computed from. What may not be read is named in one warning. */
import { collectGarbage } from '../../controller/collect.ts';
import type { Budget } from '../../nodepool/budgets.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { firstFew, noun } from '../../nodepool/plural.ts';
import type { SchedulingChange } from '../../nodepool/runtime-class.ts';
import type { Node } from '../../nodepool/types.ts';
import type { Warning } from '../../nodepool/warning.ts';
import type { NodeChange } from '../../scheduling/impact/node-keys.ts';
import type { DaemonSet, RunningPod, Selecting } from '../../scheduling/impact/types.ts';
import { NO_STORAGE, type Storage } from '../../scheduling/storage.ts';
import { attempt } from '../attempt.ts';
import {
  type ImpactPort,
  type ImpactPorts,
  SELECTING_KINDS,
  type SelectingKind,
  type SelectorPath,
} from '../impact-port.ts';
import { countOthers, noPods, type RunningPods, readRunningPods } from './running-pods.ts';

export interface ReadWish {
  paths: readonly SelectorPath[];
  /** Those that change: what selects them is read. */
  labels: readonly string[];
  /** All, after the change. */
  nodes: readonly Node[];
  /** By the name of the node. */
  changed: ReadonlyMap<string, NodeChange>;
  /** RuntimeClasses that change, by name. */
  classes: ReadonlyMap<string, SchedulingChange>;
  /** Whether a taint with NoExecute comes: budgets are read. */
  mayEvict: boolean;
  /** Whether a taint comes that keeps pods away: workloads without pods are read. */
  mayShutOut: boolean;
  /** Which of the pods on changed nodes would be scheduled anew. */
  moving: (here: RunningPods['here'], storage: Storage) => readonly RunningPod[];
}

export interface ReadImpact {
  running: RunningPods;
  daemonSets: DaemonSet[];
  selecting: Selecting[];
  budgets: Budget[];
  /** StatefulSets with podManagementPolicy Parallel, of those whose pods move. */
  parallel: ReadonlySet<string>;
  /** Whether pods and DaemonSets could be read. */
  isKnown: boolean;
  warnings: Warning[];
}

export async function readAll(
  { paths, labels, nodes, changed, classes, mayEvict, mayShutOut, moving }: ReadWish,
  ports: ImpactPorts,
): Promise<ReadImpact> {
  const [port, scheduling] = await Promise.all([ports.impact(), ports.scheduling()]);
  const unread: Unread[] = [];
  const reading = async <T>(what: string, read: () => Promise<T>, otherwise: T): Promise<T> => {
    const answer = await attempt(read);
    if ('value' in answer) return answer.value;
    unread.push({ what, refusal: answer.refusal });
    return otherwise;
  };
  const kinds = labels.length > 0 ? SELECTING_KINDS : mayShutOut ? WITHOUT_PODS : [];
  const asked = labels.length === 0 ? paths.filter(({ given }) => given !== undefined) : paths;
  const none = { selecting: [], warnings: [] };
  const budgets = async () => (await ports.drain()).budgets();
  const [running, daemonSets, custom, held, ...selecting] = await Promise.all([
    reading(PODS, () => readRunningPods(nodes, changed, classes, scheduling), noPods(nodes)),
    reading(DAEMON_SETS, () => port.daemonSets(), []),
    asked.length === 0 ? none : reading('custom resources', () => readCustom(port, asked, labels), none),
    mayEvict ? reading('PodDisruptionBudgets', budgets, []) : [],
    ...kinds.map(kind => reading<Selecting[]>(noun(2, kind), () => port.selecting(kind), [])),
  ]);
  const { snapshot, claiming, asksForNamespaces, problems, here } = running;
  [snapshot.storage, snapshot.namespaces] = await Promise.all([
    claiming.size === 0 ? NO_STORAGE : reading('volumes and claims', () => scheduling.storage(claiming), NO_STORAGE),
    asksForNamespaces
      ? reading<Namespaces>('pod affinity by labels of namespaces', () => scheduling.namespaces(), undefined)
      : undefined,
    nameCronJobs([...here.values()].flat(), port),
  ]);
  const movers = moving(here, snapshot.storage);
  collectGarbage();
  const isOrdered = movers.some(({ owner }) => owner?.kind === 'StatefulSet');
  const [parallel] = await Promise.all([
    isOrdered ? reading('the order of StatefulSets', () => port.parallelSets(), NO_SETS) : NO_SETS,
    reading('topology spread and pod affinity', () => countOthers(snapshot, movers, scheduling), undefined),
  ]);
  const warnings = [...unreadWarning(unread), ...problems, ...custom.warnings];
  const isKnown = !unread.some(({ what }) => what === PODS || what === DAEMON_SETS);
  const all = [...custom.selecting, ...selecting.flat()];
  return { running, daemonSets, selecting: all, budgets: held, parallel, isKnown, warnings };
}

/** Those that may have no pod for long, as between two runs, or with 0 replicas. */
const WITHOUT_PODS: readonly SelectingKind[] = ['Deployment', 'StatefulSet', 'CronJob'];
const NO_SETS: ReadonlySet<string> = new Set();
const PODS = 'pods';
const DAEMON_SETS = 'DaemonSets';

type Namespaces = ReadonlyMap<string, Record<string, string>> | undefined;

/** Throws NodepoolError for a path of the command line whose resource the server does not serve. */
export async function readCustom(port: ImpactPort, paths: readonly SelectorPath[], labels: readonly string[]) {
  const { selecting, unserved, unset } = await port.custom(paths, labels);
  const wrong = unserved.find(({ given }) => given !== undefined);
  if (wrong?.given !== undefined) {
    const message = `${wrong.given}: the server serves no resource ${wrong.resource}`;
    throw new NodepoolError('usage', message, '`kubectl api-resources -o name` lists those that it serves');
  }
  const warnings = unset.flatMap(({ path: { given, fields }, kind }): Warning[] =>
    given === undefined ? [] : [`${given}: no ${kind} has the field .${fields.join('.')}`],
  );
  return { selecting, warnings };
}

/** Groups the pods of all Jobs of a CronJob; where Jobs may not be read, each Job is a group. */
async function nameCronJobs(here: readonly RunningPod[], port: ImpactPort): Promise<void> {
  if (!here.some(({ owner }) => owner?.kind === 'Job')) return;
  const read = await attempt(() => port.cronJobs());
  if ('refusal' in read) return;
  for (const running of here) {
    const { pod, owner } = running;
    const name = owner?.kind === 'Job' ? read.value.get(`${pod.namespace}/${owner.name}`) : undefined;
    if (name !== undefined) running.owner = { kind: 'CronJob', name };
  }
}

interface Unread {
  what: string;
  refusal: NodepoolError;
}

/** Kinds that a warning names. */
const MAX_NAMED = 4;

/** One for all: who may not read pods may not read much else. */
function unreadWarning(unread: readonly Unread[]): Warning[] {
  const [first] = unread;
  if (first === undefined) return [];
  const what = firstFew(
    unread.map(each => each.what),
    MAX_NAMED,
  );
  const message = `the impact on ${what} is not known: ${first.refusal.oneLine}`;
  return [first.refusal.next === undefined ? message : { message, next: first.refusal.next }];
}
