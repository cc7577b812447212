/** Pods and pod templates of all namespaces that name a RuntimeClass. */
import {
  type NamingPod,
  type NamingTemplate,
  TEMPLATE_HASH,
  type TemplateKind,
} from '../../nodepool/plan/runtime-class-users.ts';
import type { Api } from '../api/api.ts';
import { PODS, type Resource } from '../api/resource.ts';
import {
  decodeCronJob,
  decodeDaemonSet,
  decodeNamingPod,
  decodeReplicated,
  type NamingObject,
} from '../protobuf/workloads.ts';
import { NOT_ENDED } from './pods.ts';

const NAMING_PODS: Resource = { ...PODS, decode: decodeNamingPod };
const APPS = { group: 'apps', version: 'v1' };
const TEMPLATES: Readonly<Record<TemplateKind, Resource>> = {
  Deployment: { ...APPS, plural: 'deployments', kind: 'Deployment', decode: decodeReplicated },
  StatefulSet: { ...APPS, plural: 'statefulsets', kind: 'StatefulSet', decode: decodeReplicated },
  DaemonSet: { ...APPS, plural: 'daemonsets', kind: 'DaemonSet', decode: decodeDaemonSet },
  CronJob: { group: 'batch', version: 'v1', plural: 'cronjobs', kind: 'CronJob', decode: decodeCronJob },
};

export function workloadsPort(api: Api): WorkloadsPort {
  return {
    pods: names => api.list(NAMING_PODS, (pod: NamingObject) => toPod(pod, names), { fieldSelector: NOT_ENDED }),
    templates: (kind, names) => api.list(TEMPLATES[kind], (object: NamingObject) => toTemplate(kind, object, names)),
  };
}

function toPod({ metadata = {}, spec }: NamingObject, names: ReadonlySet<string>): NamingPod | undefined {
  const runtimeClass = spec?.runtimeClassName ?? '';
  if (!names.has(runtimeClass)) return undefined;
  const { name = '', namespace = '', labels, ownerReferences } = metadata;
  const owner = ownerReferences?.find(({ controller }) => controller);
  return {
    namespace,
    name,
    runtimeClass,
    controller: owner && { kind: owner.kind ?? '', name: owner.name ?? '' },
    templateHash: labels?.[TEMPLATE_HASH],
  };
}

function toTemplate(
  kind: TemplateKind,
  { metadata: { name = '', namespace = '' } = {}, spec }: NamingObject,
  names: ReadonlySet<string>,
): NamingTemplate | undefined {
  const template = spec?.template ?? spec?.jobTemplate?.spec?.template;
  const runtimeClass = template?.spec?.runtimeClassName ?? '';
  return names.has(runtimeClass) ? { kind, namespace, name, runtimeClass } : undefined;
}

// The client for workloads that name a RuntimeClass.

export interface WorkloadsPort {
  /** Pods that name one of these RuntimeClasses and have not terminated. Reads every pod of the cluster. */
  pods(runtimeClasses: ReadonlySet<string>): Promise<NamingPod[]>;
  /** Objects of the kind whose pod template names one of them. Reads every object of the kind. */
  templates(kind: TemplateKind, runtimeClasses: ReadonlySet<string>): Promise<NamingTemplate[]>;
}
