/** The pods that `fit` is asked about: of a file with a pod or a pod template, or one that exists. */
import { NodepoolError } from '../nodepool/errors.ts';
import { isObject, own } from '../nodepool/json.ts';
import { daemonTolerations } from '../scheduling/daemon.ts';
import { CLAIM_TEMPLATES, POD, shaped } from '../scheduling/pod-shape.ts';
import type { RawClaimSpec, RawContainer, RawPod, RawPodSpec } from '../scheduling/raw-pod.ts';

export interface Subject {
  /** Of the object: `Deployment`. */
  kind: string;
  namespace: string;
  name: string;
  /** `Deployment shop/web`. */
  title: string;
  /** One that could be created: of a pod that exists, without its node. */
  pod: RawPod;
  /** One pod a node at most. */
  isDaemon: boolean;
  /** It exists: its own place counts as free. */
  exists: boolean;
}

/** A document of a file. */
export interface SubjectDocument {
  value: unknown;
  /** `web.yaml:12`. */
  source: string;
  placeOf(field: string): string;
}

/** Where each kind has its pod template; `[]`: it is a pod itself. */
const TEMPLATES: Readonly<Record<string, readonly string[]>> = {
  Pod: [],
  Deployment: ['spec', 'template'],
  ReplicaSet: ['spec', 'template'],
  ReplicationController: ['spec', 'template'],
  StatefulSet: ['spec', 'template'],
  DaemonSet: ['spec', 'template'],
  Job: ['spec', 'template'],
  CronJob: ['spec', 'jobTemplate', 'spec', 'template'],
};

/** The kind of an object of a kind without a pod template, as a Service. */
export function kindWithoutPod({ value }: SubjectDocument): string | undefined {
  const kind = isObject(value) ? value.kind : undefined;
  return typeof kind === 'string' && kind !== '' && own(TEMPLATES, kind) === undefined ? kind : undefined;
}

/** Throws NodepoolError (input) with the field. @param namespace of objects that name none */
export function subjectOf(document: SubjectDocument, namespace: string): Subject {
  const { value, source } = document;
  const { kind, metadata } = isObject(value) ? value : {};
  const path = typeof kind === 'string' ? own(TEMPLATES, kind) : undefined;
  if (typeof kind !== 'string' || path === undefined) {
    const what = typeof kind === 'string' ? `a ${kind} has no pod template` : 'it has no kind';
    throw new NodepoolError('input', `${source}: ${what}`, `give one of ${Object.keys(TEMPLATES).join(', ')}`);
  }
  const template = path.reduce<unknown>((part, name) => (isObject(part) ? part[name] : undefined), value);
  const prefix = path.join('.');
  const pod = shapedAt<RawPod>(template, POD, prefix, document);
  const specField = [...path, 'spec'].join('.');
  if ((pod.spec?.containers ?? []).length === 0)
    throw wrong(document, `${specField}.containers`, 'at least one container');
  const { name, namespace: itsOwn } = isObject(metadata) ? metadata : {};
  const where = typeof itsOwn === 'string' && itsOwn !== '' ? itsOwn : namespace;
  const named = typeof name === 'string' ? name : '';
  const claims = kind === 'StatefulSet' ? claimTemplates(value, document) : [];
  const spec = withDefaults(withClaims(pod.spec ?? {}, claims), kind === 'DaemonSet');
  return {
    ...{ kind, namespace: where, name: named, title: `${kind} ${where}/${named === '' ? '<no name>' : named}` },
    pod: { metadata: { ...pod.metadata, name: named === '' ? 'pod' : named, namespace: where }, spec },
    isDaemon: kind === 'DaemonSet',
    exists: false,
  };
}

/** As if it were created again: it goes where the scheduler puts it. */
export function existingSubject(pod: RawPod, namespace: string, name: string): Subject {
  const { nodeName: _, ...spec } = pod.spec ?? {};
  const { deletionTimestamp: _deletion, ...metadata } = pod.metadata ?? {};
  return {
    kind: 'Pod',
    namespace,
    name,
    title: `Pod ${namespace}/${name}`,
    pod: { metadata, spec },
    isDaemon: false,
    exists: true,
  };
}

interface ClaimTemplate {
  metadata?: { name?: string };
  spec?: RawClaimSpec;
}

function claimTemplates(value: unknown, document: SubjectDocument): ClaimTemplate[] {
  const spec = isObject(value) && isObject(value.spec) ? value.spec : {};
  const templates = spec.volumeClaimTemplates ?? [];
  return shapedAt<ClaimTemplate[]>(templates, CLAIM_TEMPLATES, 'spec.volumeClaimTemplates', document);
}

/** Each pod gets a claim of its own, as of an ephemeral volume. */
function withClaims(spec: RawPodSpec, templates: readonly ClaimTemplate[]): RawPodSpec {
  if (templates.length === 0) return spec;
  const names = templates.map(({ metadata }) => metadata?.name);
  const others = (spec.volumes ?? []).filter(({ name }) => !names.includes(name));
  const claims = templates.map(({ metadata, spec: claim = {} }) => ({
    name: metadata?.name ?? '',
    ephemeral: { volumeClaimTemplate: { spec: claim } },
  }));
  return { ...spec, volumes: [...others, ...claims] };
}

/** Those of the API server that decide on scheduling, for where it is not asked. */
function withDefaults(spec: RawPodSpec, isDaemon: boolean): RawPodSpec {
  const asked = (container: RawContainer): RawContainer => {
    const { limits, requests } = container.resources ?? {};
    return limits === undefined
      ? container
      : { ...container, resources: { ...container.resources, requests: { ...limits, ...requests } } };
  };
  return {
    ...spec,
    ...(spec.containers === undefined ? {} : { containers: spec.containers.map(asked) }),
    ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(asked) }),
    ...(isDaemon ? { tolerations: daemonTolerations(spec.tolerations ?? [], spec.hostNetwork ?? false) } : {}),
  };
}

function shapedAt<T>(value: unknown, shape: Parameters<typeof shaped>[1], field: string, document: SubjectDocument): T {
  const found = shaped(value, shape, field);
  if ('field' in found) throw wrong(document, found.field, found.expected);
  return found.value as T;
}

function wrong({ source, placeOf }: SubjectDocument, field: string, expected: string): NodepoolError {
  if (field === '') return new NodepoolError('input', `${source}: it must be an object`, 'correct the file');
  return new NodepoolError('input', `${placeOf(field)}: ${field} must be ${expected}`, 'correct the file');
}
