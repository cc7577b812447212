/** The resources this product speaks of, for paths and for messages. */
import { GROUP, VERSION } from '../nodepool/types.ts';

export interface Resource {
  /** Empty for the core group. */
  group: string;
  version: string;
  plural: string;
  kind: string;
  namespace?: string;
}

export const NODES: Resource = { group: '', version: 'v1', plural: 'nodes', kind: 'Node' };
export const PODS: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod' };
export const NODE_POOLS: Resource = { group: GROUP, version: VERSION, plural: 'nodepools', kind: 'NodePool' };
export const RUNTIME_CLASSES: Resource = {
  group: 'node.k8s.io',
  version: 'v1',
  plural: 'runtimeclasses',
  kind: 'RuntimeClass',
};
/** Events of cluster-scoped objects live in `default`, where `kubectl describe` looks. */
export const EVENTS: Resource = {
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespace: 'default',
};
export const DEFINITIONS: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
};

/** `/apis/<group>/<version>/…` of the collection, or of one object in it. */
export function pathOf({ group, version, plural, namespace }: Resource, name?: string, subresource?: string): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const scope = namespace === undefined ? '' : `/namespaces/${namespace}`;
  const rest = [name, subresource].filter(part => part !== undefined).map(part => `/${encodeURIComponent(part)}`);
  return `${root}${scope}/${plural}${rest.join('')}`;
}

/** As RBAC and kubectl write it: `nodes`, `nodepools.nodes.lailin.xyz`. */
export function qualifiedName({ group, plural }: Pick<Resource, 'group' | 'plural'>): string {
  return group === '' ? plural : `${plural}.${group}`;
}
