/** Usage of nodes from metrics.k8s.io, which is optional. */
import { NodepoolError } from '../../nodepool/errors.ts';
import { isObject } from '../../nodepool/json.ts';
import type { ResourceList } from '../../nodepool/types.ts';
import type { Usage } from '../../operations/pods-port.ts';
import { decodeNodeMetrics, type NodeMetrics } from '../protobuf/node-metrics.ts';
import type { Answer } from '../transport/answer.ts';
import type { Transport } from '../transport/transport.ts';
import { requestPage, UnreadableError } from './page.ts';
import type { Resource } from './resource.ts';
import { parseStatus } from './status.ts';

/** Its lists have no pages. */
const NODE_METRICS: Resource = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  plural: 'nodes',
  kind: 'NodeMetrics',
  decode: decodeNodeMetrics,
};

/** Failures are values. @param signal ends the wait, which is a failure */
export async function nodeUsage(transport: Transport, signal: AbortSignal): Promise<Usage> {
  const byNode = new Map<string, ResourceList>();
  const keep = (item: object) => note(byNode, item);
  try {
    const { answer, page } = await requestPage(transport, NODE_METRICS, {}, { signal, keep });
    return page === undefined ? toUsage(answer) : { kind: 'served', byNode };
  } catch (error) {
    if (!(error instanceof NodepoolError) && !(error instanceof UnreadableError)) throw error;
    return { kind: 'failed', reason: signal.aborted ? 'it did not answer in time' : error.message };
  }
}

/** For JSON and refusals. The API server itself answers 404 if the group is not served. */
export function toUsage({ status, text }: Pick<Answer, 'status' | 'text'>): Usage {
  if (status === 404) return { kind: 'absent' };
  if (status !== 200) {
    const said = parseStatus(text)?.message || text.trim().split('\n', 1)[0];
    return { kind: 'failed', reason: said || `the server answered ${status}` };
  }
  const items = itemsOf(text);
  if (items === undefined) return { kind: 'failed', reason: 'the answer is no list' };
  const byNode = new Map<string, ResourceList>();
  for (const item of items) note(byNode, item);
  return { kind: 'served', byNode };
}

function note(byNode: Map<string, ResourceList>, { metadata, usage }: NodeMetrics): void {
  byNode.set(metadata?.name ?? '', usage ?? {});
}

function itemsOf(text: string): object[] | undefined {
  try {
    const body: unknown = JSON.parse(text);
    if (!isObject(body) || !('kind' in body)) return undefined;
    return Array.isArray(body.items) ? body.items.filter(isObject) : [];
  } catch {
    return undefined;
  }
}
