/** Which workloads use a RuntimeClass: if it does not exist, the server rejects their new pods. */

/** The kinds whose pod templates are read. For Jobs only the pods count: a finished Job creates no more. */
export const TEMPLATE_KINDS = ['Deployment', 'StatefulSet', 'DaemonSet', 'CronJob'] as const;
export type TemplateKind = (typeof TEMPLATE_KINDS)[number];

/** An object with `runtimeClassName` in its pod spec. */
interface Naming {
  namespace: string;
  name: string;
  runtimeClass: string;
}

export interface NamingPod extends Naming {
  /** The controlling owner reference. */
  controller: { kind: string; name: string } | undefined;
  /** The label pod-template-hash, which a Deployment sets. */
  templateHash: string | undefined;
}

export interface NamingTemplate extends Naming {
  kind: TemplateKind;
}

/** A controller of pods, or a pod without a controller. */
export interface Workload extends Naming {
  kind: string;
  /** Its pods that name the RuntimeClass and have not terminated. */
  pods: number;
}

/** The controllers of the pods, and the templates that have no pod now; sorted by namespace, kind and name. */
export function workloadsOf(pods: readonly NamingPod[], templates: readonly NamingTemplate[]): Workload[] {
  const workloads = new Map<string, Workload>();
  const add = (found: Omit<Workload, 'pods'>, pods: number) => {
    const { namespace, kind, name, runtimeClass } = found;
    const key = `${namespace} ${kind} ${name} ${runtimeClass}`;
    const known = workloads.get(key);
    if (known === undefined) workloads.set(key, { namespace, kind, name, runtimeClass, pods });
    else known.pods += pods;
  };
  for (const template of templates) add(template, 0);
  for (const pod of pods) add({ ...pod, ...controllerOf(pod) }, 1);
  return [...workloads].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, workload]) => workload);
}

/** The label that Deployments set on their ReplicaSets and pods. */
export const TEMPLATE_HASH = 'pod-template-hash';

/** A Deployment names its ReplicaSets after itself and the hash of their template. */
export function controllerOf({
  name,
  controller,
  templateHash,
}: Pick<NamingPod, 'name' | 'controller' | 'templateHash'>): { kind: string; name: string } {
  if (controller === undefined) return { kind: 'Pod', name };
  const suffix = `-${templateHash}`;
  if (controller.kind !== 'ReplicaSet' || !controller.name.endsWith(suffix)) return controller;
  return { kind: 'Deployment', name: controller.name.slice(0, -suffix.length) };
}

/** Whether a controller is a custom resource: only its operator knows the pods that it would create. */
export function isCustomController({ apiVersion = '' }: { apiVersion?: string }): boolean {
  // API groups of Kubernetes' pod controllers have no dot; those of CustomResourceDefinitions need one.
  return apiVersion.includes('.');
}
