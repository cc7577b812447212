/**
 * NodeMetrics and PodMetrics of metrics.k8s.io: names and usage, without the labels.
 * Field numbers: generated.proto of k8s.io/metrics, metrics/v1beta1.
 */
import type { ResourceList } from '../../nodepool/types.ts';
import type { DecodeObject } from './objects.ts';
import { around, decode, message, type Schema, text } from './schema.ts';

/** The fields of a v1beta1 NodeMetrics that are used. */
export interface NodeMetrics {
  metadata?: { name?: string };
  usage?: ResourceList;
}

/** The fields of a v1beta1 PodMetrics that are used. */
export interface PodMetrics {
  metadata?: { name?: string; namespace?: string };
  containers?: { usage?: ResourceList }[];
}

const USAGE = { name: 'usage', read: around(text), repeated: 'map' } as const;

const NODE_METRICS: Schema = {
  1: { name: 'metadata', read: message({ 1: { name: 'name', read: text } }) },
  4: USAGE,
};

const POD_METRICS: Schema = {
  1: { name: 'metadata', read: message({ 1: { name: 'name', read: text }, 3: { name: 'namespace', read: text } }) },
  4: { name: 'containers', read: message({ 2: USAGE }), repeated: 'list' },
};

export const decodeNodeMetrics: DecodeObject<NodeMetrics> = raw => decode(NODE_METRICS, raw);

export const decodePodMetrics: DecodeObject<PodMetrics> = raw => decode(POD_METRICS, raw);
