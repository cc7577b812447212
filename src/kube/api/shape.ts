/**
 * The only check of the types of JSON objects from the server; all readers rely on it. A server decodes its built-in
 * types: a field of another type comes from something else in its place. Not guaranteed: the types of fields that no
 * reader uses, and of custom resources, whose readers check them themselves.
 */
import { isObject } from '../../nodepool/json.ts';
import { describeValue } from '../../nodepool/spec/read-by-schema.ts';

/** `map`: a map of strings; `objects` and `strings` are lists; `opaque`: any value, not checked. */
type Shape = 'object' | 'objects' | 'strings' | 'map' | 'string' | 'number' | 'boolean' | 'scalar' | 'time' | 'opaque';

const FIELDS: ReadonlyArray<readonly [Shape, string]> = [
  [
    'object',
    `metadata spec template jobTemplate affinity nodeAffinity podAffinity podAntiAffinity labelSelector namespaceSelector
    selector podAffinityTerm preference persistentVolumeClaim claimRef required scheduling nodeInfo regarding
    involvedObject related series source deprecatedSource podFailurePolicy scopeSelector ordinals`,
  ],
  [
    'objects',
    `conditions taints tolerations containers initContainers ephemeralContainers volumes ownerReferences managedFields
    matchExpressions matchFields nodeSelectorTerms preferredDuringSchedulingIgnoredDuringExecution
    topologySpreadConstraints ports env envFrom volumeClaimTemplates versions addresses containerStatuses
    initContainerStatuses allowedTopologies matchLabelExpressions schedulingGates resourceClaims rules onPodConditions`,
  ],
  ['strings', 'finalizers scopes values accessModes namespaces matchLabelKeys mismatchLabelKeys shortNames categories'],
  [
    'map',
    `labels annotations matchLabels nodeSelector limits requests allocatable podFixed usage hard used default
    defaultRequest max min maxLimitRequestRatio`,
  ],
  [
    'string',
    `name generateName namespace uid resourceVersion kind apiVersion key operator effect type reason message note nodeName
    phase handler holderIdentity topologyKey component bootID
    whenUnsatisfiable storageClassName volumeName claimName runtimeClassName priorityClassName schedulerName
    restartPolicy provisioner volumeBindingMode action reportingController reportingInstance manager
    operation containerName protocol plural group extendedResourceName nominatedNodeName scopeName`,
  ],
  [
    'number',
    `replicas revision leaseTransitions leaseDurationSeconds count generation observedGeneration readyReplicas
    currentHealthy desiredHealthy disruptionsAllowed expectedPods containerPort hostPort tolerationSeconds weight
    maxSkew minDomains parallelism completions deprecatedCount backoffLimit backoffLimitPerIndex failed priority
    activeDeadlineSeconds partition succeeded start`,
  ],
  ['boolean', 'unschedulable controller blockOwnerDeletion hostNetwork suspend served'],
  ['scalar', 'value'],
  [
    'time',
    `creationTimestamp deletionTimestamp renewTime acquireTime lastTransitionTime eventTime firstTimestamp lastTimestamp
    deprecatedFirstTimestamp deprecatedLastTimestamp lastObservedTime time`,
  ],
  // The `values` of exit codes are numbers.
  ['opaque', 'fieldsV1 openAPIV3Schema data onExitCodes exitCodes'],
];
const SHAPES: ReadonlyMap<string, Shape> = new Map(
  FIELDS.flatMap(([shape, names]) => names.split(/\s+/).map(name => [name, shape] as const)),
);
/** Required fields of list items. An item without one of them is left out. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  conditions: ['type', 'status'],
  taints: ['key', 'effect'],
  ownerReferences: ['apiVersion', 'kind', 'name', 'uid'],
};
/** Required fields of whole objects, by kind. */
const REQUIRED_OF: Readonly<Record<string, string>> = { RuntimeClass: 'handler', ControllerRevision: 'revision' };
/** Maximum nesting of objects; the built-in types have about a dozen levels. */
const MAX_DEPTH = 500;

/** A field of an object has another type than in the API. */
export class ShapeError extends Error {
  override readonly name = 'ShapeError';
}

/** Groups that contain only Kubernetes' own types. */
const BUILT_IN = new Set([
  ...['', 'apps', 'batch', 'policy', 'node.k8s.io', 'coordination.k8s.io', 'events.k8s.io', 'storage.k8s.io'],
  ...['scheduling.k8s.io', 'apiextensions.k8s.io', 'admissionregistration.k8s.io', 'metrics.k8s.io'],
]);

/** Removes nulls, in place. Throws ShapeError that names the field. In other API groups, checks only the metadata. */
export function checkShape(object: Record<string, unknown>, group: string): void {
  if (BUILT_IN.has(group)) checkObject(object, '', 0);
  else checkField(object, 'metadata', 'object', '', 0);
}

/** Throws ShapeError if a required field is missing: a node without a name would not be released. */
export function checkRequired(object: Record<string, unknown>, kind: string): void {
  const { metadata } = object;
  if (!isObject(metadata) || typeof metadata.name !== 'string' || metadata.name === '')
    throw new ShapeError('metadata.name is missing');
  const field = REQUIRED_OF[kind];
  if (field !== undefined && object[field] === undefined) throw new ShapeError(`${field} is missing`);
}

function checkObject(object: Record<string, unknown>, path: string, depth: number): void {
  if (depth > MAX_DEPTH) return;
  for (const name in object) {
    const value = object[name];
    // The times of an Event are printed as the server sends them, as kubectl does.
    if (value === null && depth === 0 && SHAPES.get(name) === 'time') continue;
    if (value === null) delete object[name];
    else checkField(object, name, shapeOf(name, path), path, depth);
  }
}

function shapeOf(name: string, path: string): Shape | undefined {
  // A condition has a `status` as well. `overhead` is a map in pods, an object in a RuntimeClass. `limits` are a map in
  // pods, a list in a LimitRange. Required node affinity is one object, required pod affinity a list.
  if (name === 'status' && path === '') return 'object';
  if (name === 'limits' && path === 'spec') return 'objects';
  if (name === 'overhead') return path.endsWith('spec') ? 'map' : 'object';
  if (name !== 'requiredDuringSchedulingIgnoredDuringExecution') return SHAPES.get(name);
  return path.endsWith('.nodeAffinity') ? 'object' : 'objects';
}

function checkField(
  object: Record<string, unknown>,
  name: string,
  shape: Shape | undefined,
  path: string,
  depth: number,
): void {
  const value = object[name];
  if (shape === 'opaque' || value === undefined || value === null) return;
  const isRight = isShaped(value, shape);
  if (isRight && typeof value !== 'object') return;
  const here = path === '' ? name : `${path}.${name}`;
  if (!isRight) throw new ShapeError(`${here} is ${describeValue(value)}, not ${NAMES[shape ?? 'opaque']}`);
  if (shape === 'map') checkMap(value as Record<string, unknown>, here);
  else if (Array.isArray(value)) object[name] = checkList(value, name, here, depth);
  else if (isObject(value)) checkObject(value, here, depth + 1);
}

const NAMES: Readonly<Record<Shape, string>> = {
  object: 'an object',
  objects: 'a list',
  strings: 'a list',
  map: 'a map',
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  scalar: 'a string or a number',
  time: 'a time',
  opaque: 'anything',
};

function isShaped(value: unknown, shape: Shape | undefined): boolean {
  switch (shape) {
    case undefined:
    case 'opaque':
      return true;
    case 'object':
    case 'map':
      return isObject(value);
    case 'objects':
    case 'strings':
      return Array.isArray(value);
    case 'scalar':
      return typeof value === 'string' || typeof value === 'number';
    case 'time':
      return typeof value === 'string' && !Number.isNaN(Date.parse(value));
    default:
      return typeof value === shape;
  }
}

function checkList(list: unknown[], name: string, path: string, depth: number): unknown[] {
  const shape = SHAPES.get(name);
  const items = list.includes(null) ? list.filter(item => item !== null) : list;
  for (let at = 0; at < items.length; at++) {
    const item = items[at];
    if (shape === 'objects' ? !isObject(item) : shape === 'strings' && typeof item !== 'string') {
      const wanted = shape === 'objects' ? 'an object' : 'a string';
      throw new ShapeError(`${path}[${at}] is ${describeValue(item)}, not ${wanted}`);
    }
    if (isObject(item)) checkObject(item, `${path}[${at}]`, depth + 1);
  }
  const required = REQUIRED[name];
  if (required === undefined) return items;
  return items.filter(item => required.every(field => Object.hasOwn(item as object, field)));
}

function checkMap(map: Record<string, unknown>, path: string): void {
  for (const key in map) {
    const value = map[key];
    if (value === null) delete map[key];
    else if (typeof value !== 'string')
      throw new ShapeError(`${path}[${key}] is ${describeValue(value)}, not a string`);
  }
}
