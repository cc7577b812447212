/** The objects that the controller reads and creates, with the fields it uses. */
import type { V1Deployment } from '@kubernetes/client-node';
import type { Metadata } from '../runtime.ts';

export const MEMCACHEDS = { group: 'cache.example.com', version: 'v1alpha1', plural: 'memcacheds' };

const NAME_LABEL = 'app.kubernetes.io/name';
const INSTANCE_LABEL = 'app.kubernetes.io/instance';
/** Labels of all objects of a Memcached. */
export const SELECTOR = `${NAME_LABEL}=memcached`;

export interface Memcached {
  metadata: Metadata & { deletionTimestamp?: string };
  spec: { size: number };
  status?: { nodes: string[] };
}

export interface Deployment {
  metadata: Metadata & { ownerReferences?: { uid: string }[] };
  spec: { replicas?: number };
}

export interface Pod {
  metadata: Metadata & { labels?: Record<string, string>; deletionTimestamp?: string };
}

/** `namespace/name` of the Memcached in a pod's labels. */
export function ownerOf({ metadata: { namespace = '', labels } }: Pod): string {
  return `${namespace}/${labels?.[INSTANCE_LABEL] ?? ''}`;
}

/** The Deployment to create; it is deleted with its owner. */
export function deploymentFor({ metadata: { name, uid }, spec: { size } }: Memcached): V1Deployment {
  const labels = { [NAME_LABEL]: 'memcached', [INSTANCE_LABEL]: name };
  const owner = { apiVersion: 'cache.example.com/v1alpha1', kind: 'Memcached', name, uid, controller: true };
  const container = {
    name: 'memcached',
    image: 'memcached:1.6-alpine',
    args: ['--memory-limit=64'],
    ports: [{ name: 'memcached', containerPort: 11211 }],
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, labels, ownerReferences: [owner] },
    spec: {
      replicas: size,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
}
