/** Finds workloads whose RuntimeClass is deleted, and asks about them. */
import type { WorkloadsPort } from '../../../kube/resources/workloads.ts';
import type { NodepoolError } from '../../../nodepool/errors.ts';
import { planRuntimeClass, runtimeClassName } from '../../../nodepool/plan/runtime-class.ts';
import { TEMPLATE_KINDS, type Workload, workloadsOf } from '../../../nodepool/plan/runtime-class-users.ts';
import { firstFew, noun, plural } from '../../../nodepool/text.ts';
import type { NodePool, RuntimeClass } from '../../../nodepool/types.ts';
import type { ClusterPlan } from '../../../reconciler/plan/cluster-plan.ts';
import { valueOrRefusal } from '../refusals.ts';
import type { Question } from './consent.ts';

/** A loss for each RuntimeClass in use, and for what could not be read. */
export type RuntimeClassUsers = Required<Pick<Question, 'covers' | 'losses'>>;

const MAX_NAMED = 10;

/** Reads no workloads if no RuntimeClass is deleted. Also asks about unreadable workloads, which may use one. */
export async function findRuntimeClassUsers(
  runtimeClasses: readonly string[],
  workloads: () => Promise<WorkloadsPort>,
): Promise<RuntimeClassUsers> {
  if (runtimeClasses.length === 0) return { covers: [], losses: [] };
  const port = await workloads();
  const names = new Set(runtimeClasses);
  const [pods, ...templates] = await Promise.all([
    reading('pods', () => port.pods(names)),
    ...TEMPLATE_KINDS.map(kind => reading(`${kind}s without pods`, () => port.templates(kind, names))),
  ]);
  const found = workloadsOf(
    pods.found,
    templates.flatMap(({ found }) => found),
  );
  const named = runtimeClasses.flatMap(name => usersText(name, found));
  const unread = [pods, ...templates].filter(({ refusal }) => refusal !== undefined);
  return {
    covers: [
      ...found.map(workloadName),
      ...unread.flatMap(({ what }) => runtimeClasses.map(name => mayName(what, `RuntimeClass ${name}`))),
    ],
    losses: [...named, ...unreadText(runtimeClasses, unread)],
  };
}

/** The RuntimeClasses that are deleted with the pools, except those of other owners. Needs no nodes, unlike a plan. */
export function classesDeletedWith(pools: readonly NodePool[], existing: Iterable<RuntimeClass>): string[] {
  const marked = pools.map(pool => ({ ...pool, metadata: { ...pool.metadata, deletionTimestamp: 'now' } }));
  return deletedClasses(marked, existing);
}

export function deletedClasses(pools: readonly NodePool[], existing: Iterable<RuntimeClass>): string[] {
  const byName = new Map([...existing].map(runtimeClass => [runtimeClass.metadata.name, runtimeClass]));
  return pools.flatMap(pool => {
    const name = runtimeClassName(pool.metadata.name);
    return planRuntimeClass(pool, byName.get(name)).kind === 'delete' ? [name] : [];
  });
}

export function deletedBy({ runtimeClasses }: ClusterPlan): string[] {
  return runtimeClasses.filter(({ kind }) => kind === 'delete').map(({ name }) => name);
}

function classesText(names: readonly string[]): string {
  return `${noun(names.length, 'RuntimeClass')} ${names.join(', ')}`;
}

function mayName(unread: string, runtimeClass: string): string {
  return `${unread} cannot be read and may use ${runtimeClass}`;
}

/** `Deployment ml/train`. An approval covers workloads, because pods come and go. */
function workloadName({ kind, namespace, name }: Workload): string {
  return `${kind} ${namespace}/${name}`;
}

function workloadText(workload: Workload): string {
  return `${workloadName(workload)}${workload.kind === 'Pod' ? '' : ` (${plural(workload.pods, 'pod')})`}`;
}

interface UsersRead<T> {
  what: string;
  found: T[];
  refusal?: NodepoolError;
}

async function reading<T>(what: string, read: () => Promise<T[]>): Promise<UsersRead<T>> {
  const answer = await valueOrRefusal(read);
  return 'value' in answer ? { what, found: answer.value } : { what, found: [], ...answer };
}

function usersText(runtimeClass: string, workloads: readonly Workload[]): string[] {
  const users = workloads.filter(workload => workload.runtimeClass === runtimeClass);
  if (users.length === 0) return [];
  const names = firstFew(users.map(workloadText), MAX_NAMED);
  return [
    `RuntimeClass ${runtimeClass} would be deleted, but ${plural(users.length, 'workload')} ${users.length === 1 ? 'names' : 'name'} it: ${names}. Running pods stay; the server would reject new pods until runtimeClassName is removed from the pod ${noun(users.length, 'template')}`,
  ];
}

function unreadText(runtimeClasses: readonly string[], unread: readonly UsersRead<unknown>[]): string[] {
  const reason = unread[0]?.refusal?.oneLine;
  if (reason === undefined) return [];
  const what = unread.map(({ what }) => what).join(', ');
  return [`cannot tell which ${what} use ${classesText(runtimeClasses)}, which would be deleted: ${reason}`];
}
