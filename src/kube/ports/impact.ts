/** The client for what a change of nodes may affect. src/kube implements it. */

import type { DaemonSet, Selecting, SelectingKind } from '../../scheduling/impact/types.ts';
import type { EvictionsClient } from '../cluster.ts';
import type { SchedulingPort } from './scheduling.ts';

/** A field of a custom resource that names node labels. */
export interface SelectorPath {
  /** As kubectl has it: `bgppeers.crd.projectcalico.org`. */
  resource: string;
  /** Names of fields, from the object on; a list on the way is searched in each item. */
  fields: readonly string[];
  /** The flag and its value, where that names it. */
  given?: string;
}

export interface CustomSelecting {
  selecting: Selecting[];
  /** Whose resource the server does not serve. */
  unserved: SelectorPath[];
  /** Whose field no object has, of a kind with objects. */
  unset: { path: SelectorPath; kind: string }[];
}

export interface ImpactPort {
  daemonSets(): Promise<DaemonSet[]>;
  /** Of pods with a controller, the controller is asked. Other objects than pod templates that select no node are left out. */
  selecting(kind: SelectingKind): Promise<Selecting[]>;
  /** Those of the custom resources that name one of the labels in one of the fields. */
  custom(paths: readonly SelectorPath[], labels: readonly string[]): Promise<CustomSelecting>;
  /** The CronJob of each Job that has one; both as `namespace/name` and name. */
  cronJobs(): Promise<ReadonlyMap<string, string>>;
  /** StatefulSets with podManagementPolicy Parallel, as `namespace/name`. */
  parallelSets(): Promise<ReadonlySet<string>>;
}

export interface ImpactPorts {
  impact(): Promise<ImpactPort>;
  scheduling(): Promise<SchedulingPort>;
  cluster: { evictions(): Promise<Pick<EvictionsClient, 'budgets'>> };
}
