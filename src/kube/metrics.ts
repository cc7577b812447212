/** What nodes use, from metrics.k8s.io: an extra that most clusters have and nothing may wait for. */
import { NodepoolError } from '../nodepool/errors.ts';
import { isObject } from '../nodepool/json.ts';
import type { ResourceList } from '../nodepool/types.ts';
import type { Usage } from '../operations/demand-port.ts';
import type { Answer } from './answer.ts';
import { parseStatus } from './errors.ts';
import { pathOf, type Resource } from './resource.ts';
import type { Transport } from './transport.ts';

const NODE_METRICS: Resource = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  plural: 'nodes',
  kind: 'NodeMetrics',
};

interface NodeMetrics {
  metadata?: { name?: string };
  usage?: ResourceList;
}

/** @param signal ends the wait: then, as on any failure, the result says so */
export async function nodeUsage(transport: Transport, signal: AbortSignal): Promise<Usage> {
  try {
    return toUsage(await transport.request({ path: pathOf(NODE_METRICS), signal }));
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    return { kind: 'failed', reason: signal.aborted ? 'it did not answer in time' : error.message };
  }
}

/** 404 is the API server's own answer, for a group that it does not have. */
export function toUsage({ status, text }: Pick<Answer, 'status' | 'text'>): Usage {
  if (status === 404) return { kind: 'absent' };
  if (status !== 200) {
    const said = parseStatus(text)?.message || text.trim().split('\n', 1)[0];
    return { kind: 'failed', reason: said || `the server answered ${status}` };
  }
  const items = itemsOf(text);
  if (items === undefined) return { kind: 'failed', reason: 'the answer is no list' };
  const byNode = new Map<string, ResourceList>();
  for (const { metadata, usage } of items) byNode.set(metadata?.name ?? '', usage ?? {});
  return { kind: 'served', byNode };
}

function itemsOf(text: string): NodeMetrics[] | undefined {
  try {
    const body: unknown = JSON.parse(text);
    if (!isObject(body) || !('kind' in body)) return undefined;
    return Array.isArray(body.items) ? body.items.filter(isObject) : [];
  } catch {
    return undefined;
  }
}
