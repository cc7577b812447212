/** The resources that this program uses. */
import { InvalidNameError } from '../../nodepool/errors.ts';
import { GROUP, VERSION } from '../../nodepool/types.ts';
import { type DecodeObject, decodeMetadata, decodeNode, decodePod, PROTOBUF } from '../protobuf/objects.ts';

export interface Resource {
  /** Empty for the core group. */
  group: string;
  version: string;
  plural: string;
  kind: string;
  namespace?: string;
  /** Decodes protobuf. Without it, requests accept JSON only, which custom resources require. */
  decode?: DecodeObject;
  /** The Accept header, for another representation of the objects. */
  accept?: string;
}

const AS_METADATA = 'as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
/** For lists without spec and status: "Metadata-only fetches" in the API concepts. */
export const ONLY_METADATA: Pick<Resource, 'decode' | 'accept'> = {
  decode: decodeMetadata,
  accept: `${PROTOBUF};${AS_METADATA}, application/json;${AS_METADATA}`,
};

export const NODES: Resource = { group: '', version: 'v1', plural: 'nodes', kind: 'Node', decode: decodeNode };
export const PODS: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', decode: decodePod };
export const NAMESPACES: Resource = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' };
export const NODE_POOLS: Resource = { group: GROUP, version: VERSION, plural: 'nodepools', kind: 'NodePool' };
export const RUNTIME_CLASSES: Resource = {
  group: 'node.k8s.io',
  version: 'v1',
  plural: 'runtimeclasses',
  kind: 'RuntimeClass',
};
/** Returns the user of the connection. */
export const SELF_REVIEWS: Resource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'selfsubjectreviews',
  kind: 'SelfSubjectReview',
};
/** Events of cluster-scoped objects are in `default`, where `kubectl describe` looks. */
export const EVENTS: Resource = {
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespace: 'default',
};
/** ControllerRevisions of pools: in the namespace of the pools' Events. */
export const CONTROLLER_REVISIONS: Resource = {
  group: 'apps',
  version: 'v1',
  plural: 'controllerrevisions',
  kind: 'ControllerRevision',
  namespace: 'default',
};
export const CRDS: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
};

/** `/apis/<group>/<version>/…`. Throws for a name that no object can have: the path could be that of the collection. */
export function pathOf(resource: Resource, name?: string, subresource?: string): string {
  const { group, version, plural, namespace, kind } = resource;
  if (name !== undefined) assertName(kind, name);
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const scope = namespace === undefined ? '' : `/namespaces/${namespace}`;
  const rest = [name, subresource].filter(part => part !== undefined).map(part => `/${encodeURIComponent(part)}`);
  return `${root}${scope}/${plural}${rest.join('')}`;
}

/** Throws for a name that no object can have: in a path or field selector, it would select something else. */
export function assertName(kind: string, name: string): void {
  if (!/^\.{0,2}$|[/%,]/.test(name)) return;
  const next = name.includes(',')
    ? `separate names by spaces: ${name.split(',').join(' ').trim()}`
    : 'correct the name';
  throw new InvalidNameError('input', `"${name}" is not a valid ${kind} name`, next);
}

/** The Accept header: protobuf if it can be decoded, and JSON for servers without protobuf. */
export function acceptOf({ decode, accept }: Resource): string {
  if (accept !== undefined) return accept;
  return decode === undefined ? JSON_TYPE : `${PROTOBUF}, ${JSON_TYPE}`;
}

/** The same resource as JSON, with all fields. */
export function inJson({ decode: _decode, accept: _accept, ...resource }: Resource): Resource {
  return resource;
}

const JSON_TYPE = 'application/json';

/** As RBAC and kubectl write it: `nodes`, `nodepools.nodes.lailin.xyz`. */
export function qualifiedName({ group, plural }: Pick<Resource, 'group' | 'plural'>): string {
  return group === '' ? plural : `${plural}.${group}`;
}
