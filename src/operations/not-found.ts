/** What was named and is not there. */

import { NodepoolError } from '../nodepool/errors.ts';
import { noun } from '../nodepool/plural.ts';
import { suggest, withoutType } from '../nodepool/suggest.ts';
import type { NodePoolsClient } from '../reconciler/ports.ts';

interface Known {
  /** Names of pools, where they were read. */
  pools?: readonly string[];
  /** Whether a node has the name, where nodes were read. */
  isNode?: (name: string) => boolean;
}

/** Names a pool of a similar name, if there is one. */
export function poolNotFound(
  names: readonly string[],
  { pools = [], isNode = () => false }: Known = {},
): NodepoolError {
  const node = names.find(isNode);
  if (node !== undefined) {
    return notFound('nodepool', names, '', `"${node}" is a node: \`kubectl nodepool nodes --why ${node}\``);
  }
  const untyped = withoutType(names);
  const meant = untyped === undefined ? names.flatMap(name => suggest(name, pools) ?? []) : [];
  if (meant.length === 0) {
    return notFound('nodepool', names, '', untyped ?? 'list the pools with `kubectl nodepool get`');
  }
  return notFound('nodepool', names, '', undefined, `; did you mean ${quoted([...new Set(meant)])}?`);
}

/** The names to suggest for pools that were asked for one by one: one request, and nothing where it is refused. */
export function namesToSuggest(
  missing: readonly string[],
  pools: Pick<NodePoolsClient, 'firstNames'>,
): Promise<string[]> | string[] {
  return missing.length === 0 || withoutType(missing) !== undefined ? [] : pools.firstNames();
}

/** @param flag that named them, as `--nodes: ` */
export function nodesNotFound(names: readonly string[], flag = ''): NodepoolError {
  return notFound('node', names, flag, 'list the nodes with `kubectl get nodes`');
}

function notFound(
  what: string,
  names: readonly string[],
  flag: string,
  next: string | undefined,
  meant = '',
): NodepoolError {
  return new NodepoolError('input', `${flag}${noun(names.length, what)} ${quoted(names)} not found${meant}`, next);
}

function quoted(names: readonly string[]): string {
  return names.map(name => `"${name}"`).join(', ');
}
