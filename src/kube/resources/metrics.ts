/** Usage of nodes and pods from metrics.k8s.io, which is optional. */
import { NodepoolError } from '../../nodepool/errors.ts';
import { isObject, parsedJson } from '../../nodepool/json.ts';
import { type Amounts, addList, quantityReader, type ReadQuantity } from '../../nodepool/quantity/amounts.ts';
import { QuantityError } from '../../nodepool/quantity/quantity.ts';
import type { ResourceList } from '../../nodepool/types.ts';
import { requestPage, UnreadableError } from '../api/page.ts';
import type { Resource } from '../api/resource.ts';
import { parseStatus } from '../api/status.ts';
import { decodeNodeMetrics, decodePodMetrics, type NodeMetrics, type PodMetrics } from '../protobuf/nodes.ts';
import type { ApiResponse } from '../transport/response.ts';
import type { Transport } from '../transport/transport.ts';
import type { NodeUsage, NoUsage, PodUsage } from './pods.ts';

/** The lists of metrics.k8s.io have no pages. */
const NODE_METRICS: Resource = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  plural: 'nodes',
  kind: 'NodeMetrics',
  decode: decodeNodeMetrics,
};

const POD_METRICS: Resource = { ...NODE_METRICS, plural: 'pods', kind: 'PodMetrics', decode: decodePodMetrics };

/** Failures are values. @param signal ends the wait, which is a failure */
export async function nodeUsage(transport: Transport, signal: AbortSignal): Promise<NodeUsage> {
  const byNode = new Map<string, ResourceList>();
  const none = await readUsage(transport, NODE_METRICS, signal, item => noteNode(byNode, item));
  return none ?? { kind: 'served', byNode };
}

/** As nodeUsage(). A quantity that cannot be parsed counts as 0. */
export async function podUsage(transport: Transport, signal: AbortSignal): Promise<PodUsage> {
  const byPod = new Map<string, Amounts>();
  const read = quantityReader();
  const none = await readUsage(transport, POD_METRICS, signal, (item: PodMetrics) => {
    const used: Amounts = new Map();
    for (const { usage } of item.containers ?? []) addReadable(used, usage, read);
    byPod.set(`${item.metadata?.namespace}/${item.metadata?.name}`, used);
  });
  return none ?? { kind: 'served', byPod };
}

function addReadable(sum: Amounts, list: ResourceList | undefined, read: ReadQuantity): void {
  try {
    addList(sum, list, read);
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
  }
}

/** Calls `keep` with every item. Undefined if all were read. */
async function readUsage(
  transport: Transport,
  resource: Resource,
  signal: AbortSignal,
  keep: (item: object) => void,
): Promise<NoUsage | undefined> {
  try {
    const { answer, page } = await requestPage(transport, resource, {}, { signal, keep });
    return page === undefined ? readText(answer, keep) : undefined;
  } catch (error) {
    if (!(error instanceof NodepoolError) && !(error instanceof UnreadableError)) throw error;
    return { kind: 'failed', reason: signal.aborted ? 'no answer in time' : error.message };
  }
}

/** For JSON and refusals. The API server itself answers 404 if the group is not served. */
function readText(
  { status, text }: Pick<ApiResponse, 'status' | 'text'>,
  keep: (item: object) => void,
): NoUsage | undefined {
  if (status === 404) return { kind: 'absent' };
  if (status !== 200) {
    const said = parseStatus(text)?.message || text.trim().split('\n', 1)[0];
    return { kind: 'failed', reason: said || `the server answered ${status}` };
  }
  const items = itemsOf(text);
  if (items === undefined) return { kind: 'failed', reason: 'the answer is not a list' };
  for (const item of items) keep(item);
  return undefined;
}

function noteNode(byNode: Map<string, ResourceList>, { metadata, usage }: NodeMetrics): void {
  byNode.set(metadata?.name ?? '', usage ?? {});
}

function itemsOf(text: string): object[] | undefined {
  const body = parsedJson(text);
  if (!isObject(body) || !('kind' in body)) return undefined;
  return Array.isArray(body.items) ? body.items.filter(isObject) : [];
}
