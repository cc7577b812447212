/** The fields of a pod that decide its resources (nodepool/quantity/pod-resources.ts). */
import type { V1Pod } from '@kubernetes/client-node';
import type { Wire } from '../wire.ts';
import type { DecodeObject } from './objects.ts';
import { decode, message, type Schema, text, wrappedValue } from './schema.ts';

const AMOUNTS = { read: wrappedValue(text), repeated: 'map' as const };

const RESOURCES: Schema = { 1: { name: 'limits', ...AMOUNTS }, 2: { name: 'requests', ...AMOUNTS } };

export const DEMAND_CONTAINER: Schema = {
  1: { name: 'name', read: text },
  8: { name: 'resources', read: message(RESOURCES) },
  24: { name: 'restartPolicy', read: text },
};

export const DEMAND_SPEC: Schema = {
  2: { name: 'containers', read: message(DEMAND_CONTAINER), repeated: 'list' },
  10: { name: 'nodeName', read: text },
  20: { name: 'initContainers', read: message(DEMAND_CONTAINER), repeated: 'list' },
  32: { name: 'overhead', ...AMOUNTS },
  40: { name: 'resources', read: message(RESOURCES) },
};

const CONTAINER_STATUS: Schema = {
  1: { name: 'name', read: text },
  10: { name: 'allocatedResources', ...AMOUNTS },
  11: { name: 'resources', read: message(RESOURCES) },
};

export const DEMAND_STATUS: Schema = {
  2: {
    name: 'conditions',
    read: message({ 1: { name: 'type', read: text }, 5: { name: 'reason', read: text } }),
    repeated: 'list',
  },
  8: { name: 'containerStatuses', read: message(CONTAINER_STATUS), repeated: 'list' },
  10: { name: 'initContainerStatuses', read: message(CONTAINER_STATUS), repeated: 'list' },
  19: { name: 'allocatedResources', ...AMOUNTS },
  20: { name: 'resources', read: message(RESOURCES) },
};

const POD: Schema = {
  1: { name: 'metadata', read: message({ 1: { name: 'name', read: text }, 3: { name: 'namespace', read: text } }) },
  2: { name: 'spec', read: message(DEMAND_SPEC) },
  3: { name: 'status', read: message(DEMAND_STATUS) },
};

export const decodePodDemand: DecodeObject<Wire<V1Pod>> = raw => decode(POD, raw);
