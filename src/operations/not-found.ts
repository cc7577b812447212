/** What was named and is not there. */

import { NodepoolError } from '../nodepool/errors.ts';
import { noun } from '../nodepool/plural.ts';

export function poolNotFound(names: readonly string[]): NodepoolError {
  return notFound('nodepool', names, '', 'list the pools with `kubectl nodepool get`');
}

/** @param flag that named them, as `--nodes: ` */
export function nodesNotFound(names: readonly string[], flag = ''): NodepoolError {
  return notFound('node', names, flag, 'list the nodes with `kubectl get nodes`');
}

function notFound(what: string, names: readonly string[], flag: string, next: string): NodepoolError {
  const quoted = names.map(name => `"${name}"`).join(', ');
  return new NodepoolError('input', `${flag}${noun(names.length, what)} ${quoted} not found`, next);
}
