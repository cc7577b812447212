/** What a change of nodes may affect, beside pods. */
import type { ImpactPort } from '../../operations/impact-port.ts';
import type { Api } from './api.ts';
import { listCustom } from './custom-selectors.ts';
import { listCronJobs, listDaemonSets, listParallelSets, listSelecting } from './selecting.ts';

export function impactPort(api: Api): ImpactPort {
  return {
    daemonSets: () => listDaemonSets(api),
    selecting: kind => listSelecting(api, kind),
    cronJobs: () => listCronJobs(api),
    parallelSets: () => listParallelSets(api),
    custom: (paths, labels) => listCustom(api, paths, labels),
  };
}
