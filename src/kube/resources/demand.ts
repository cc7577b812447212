/** DemandPort: what pods ask for and nodes use. Read by few verbs, and so loaded by those alone. */
import type { DemandPort } from '../../operations/demand-port.ts';
import type { Transport } from '../transport/transport.ts';
import type { Api } from './api.ts';

export function demandPort(api: Api, transport: Transport): DemandPort {
  return {
    podDemand: async nodes => (await import('./pod-demand.ts')).podDemand(api, nodes),
    nodeUsage: async signal => (await import('./metrics.ts')).nodeUsage(transport, signal),
  };
}
