/** Requests and limits of the pods on each node, summed while the list is read. */
import type { V1Pod } from '@kubernetes/client-node';
import { addAmounts, quantityReader } from '../../nodepool/quantity/amounts.ts';
import { podLimits, podRequests } from '../../nodepool/quantity/pod-resources.ts';
import { QuantityError } from '../../nodepool/quantity/quantity.ts';
import type { NodeLoad } from '../../nodepool/quantity/resource-usage.ts';
import type { Api } from '../api/api.ts';
import { PODS, type Resource } from '../api/resource.ts';
import { decodePodDemand } from '../protobuf/pod-demand.ts';
import type { Query } from '../transport/request.ts';
import type { Wire } from '../wire.ts';
import { NOT_ENDED, PLACED, type PodDemand, type PodLoad } from './pods.ts';

export type WirePod = Wire<V1Pod>;

const DEMANDING_PODS: Resource = { ...PODS, decode: decodePodDemand };

/**
 * Includes all pods that are bound to a node and have not terminated. Throws NodepoolError.
 * @param nodes reads only the pods on these nodes, with one list for each
 * @param eachPod also returns the requests of each pod
 */
export async function podDemand(api: Api, nodes?: readonly string[], eachPod = false): Promise<PodDemand> {
  const queries = nodes?.map(onNode) ?? [PLACED];
  const all = await Promise.all(queries.map(query => readSums(api, query, eachPod)));
  return {
    byNode: new Map(all.flatMap(({ byNode }) => [...byNode])),
    problems: all.flatMap(({ problems }) => problems),
    pods: all.flatMap(({ pods = [] }) => pods),
  };
}

/** From the server's cache, usually milliseconds old: otherwise Kubernetes 1.30 reads all pods from etcd. */
function onNode(node: string): Query {
  return { fieldSelector: `spec.nodeName=${node},${NOT_ENDED}`, resourceVersion: '0' };
}

async function readSums(api: Api, query: Query, eachPod: boolean): Promise<PodDemand> {
  let sums = demandSums(eachPod);
  // A restarted list must not count pods twice.
  const startOver = () => {
    sums = demandSums(eachPod);
  };
  await api.list(DEMANDING_PODS, (pod: WirePod) => sums.add(pod), query, startOver);
  return sums;
}

/** Sums pods by node. @param eachPod also keeps the requests of each pod */
export function demandSums(eachPod = false): PodDemand & { add(pod: WirePod): void } {
  const byNode = new Map<string, NodeLoad>();
  const problems: string[] = [];
  const pods: PodLoad[] = [];
  const read = quantityReader();
  return {
    byNode,
    problems,
    pods,
    add(pod) {
      const name = pod.spec?.nodeName ?? '';
      let node = byNode.get(name);
      if (node === undefined) {
        node = { pods: 0, requests: new Map(), limits: new Map() };
        byNode.set(name, node);
      }
      node.pods += 1;
      try {
        const [requests, limits] = [podRequests(pod, read), podLimits(pod, read)];
        addAmounts(node.requests, requests);
        addAmounts(node.limits, limits);
        if (eachPod) pods.push({ ...nameOf(pod), node: name, requests, limits });
      } catch (error) {
        if (!(error instanceof QuantityError)) throw error;
        const { namespace, name: podName } = nameOf(pod);
        problems.push(`pod ${namespace}/${podName}: ${error.message}`);
        if (eachPod) pods.push({ ...nameOf(pod), node: name, requests: new Map(), limits: new Map() });
      }
    },
  };
}

function nameOf({ metadata: { namespace = '', name = '' } = {} }: WirePod): { namespace: string; name: string } {
  return { namespace, name };
}
