/** The fields of pods and pod templates that name their RuntimeClass. Field numbers: see objects.ts. */
import { TEMPLATE_HASH } from '../../nodepool/plan/runtime-class-users.ts';
import type { DecodeObject } from './objects.ts';
import { bool, decode, message, type Schema, text } from './schema.ts';

interface PodTemplate {
  spec?: { runtimeClassName?: string };
}

export interface NamingObject {
  metadata?: {
    name?: string;
    namespace?: string;
    labels?: Record<string, string>;
    ownerReferences?: { apiVersion?: string; kind?: string; name?: string; controller?: boolean }[];
  };
  spec?: {
    /** In a pod. */
    runtimeClassName?: string;
    /** In a controller of pods. */
    template?: PodTemplate;
    /** In a CronJob. */
    jobTemplate?: { spec?: { template?: PodTemplate } };
  };
}

/** The field of the metadata that names an object's controller. */
export const OWNERS: Schema = {
  13: {
    name: 'ownerReferences',
    read: message({
      1: { name: 'kind', read: text },
      3: { name: 'name', read: text },
      5: { name: 'apiVersion', read: text },
      6: { name: 'controller', read: bool },
    }),
    repeated: 'list',
  },
};

const META: Schema = {
  1: { name: 'name', read: text },
  3: { name: 'namespace', read: text },
  11: { name: 'labels', read: text, repeated: 'map', only: new Set([TEMPLATE_HASH]) },
  ...OWNERS,
};

const POD_SPEC: Schema = { 29: { name: 'runtimeClassName', read: text } };
const TEMPLATE = { name: 'template', read: message({ 2: { name: 'spec', read: message(POD_SPEC) } }) };
const JOB_TEMPLATE = message({ 2: { name: 'spec', read: message({ 6: TEMPLATE }) } });

function objectWith(spec: Schema): DecodeObject<NamingObject> {
  const schema = { 1: { name: 'metadata', read: message(META) }, 2: { name: 'spec', read: message(spec) } };
  return raw => decode(schema, raw);
}

export const decodeNamingPod = objectWith(POD_SPEC);
/** For Deployments and StatefulSets. */
export const decodeReplicated = objectWith({ 3: TEMPLATE });
export const decodeDaemonSet = objectWith({ 2: TEMPLATE });
export const decodeCronJob = objectWith({ 5: { name: 'jobTemplate', read: JOB_TEMPLATE } });
