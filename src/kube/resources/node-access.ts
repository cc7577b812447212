/** NodeAccess: nodes by their labels, and the pods on some nodes, whose reading few verbs load. */
import type { NodeAccess } from '../../operations/node-access-port.ts';
import type { Api } from './api.ts';
import { toNode } from './nodes.ts';
import { NODES } from './resource.ts';

export function nodeAccess(api: Api): NodeAccess {
  return {
    select: labelSelector => api.list(NODES, toNode, { labelSelector }),
    podsOn: async nodes => (await import('./placed-pods.ts')).podsOn(api, nodes),
  };
}
