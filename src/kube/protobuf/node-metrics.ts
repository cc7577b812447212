/**
 * NodeMetrics of metrics.k8s.io: name and usage, without the labels.
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

const NODE_METRICS: Schema = {
  1: { name: 'metadata', read: message({ 1: { name: 'name', read: text } }) },
  4: { name: 'usage', read: around(text), repeated: 'map' },
};

export const decodeNodeMetrics: DecodeObject<NodeMetrics> = raw => decode(NODE_METRICS, raw);
