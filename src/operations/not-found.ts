/** What was named and is not there. */

import { NodepoolError } from '../nodepool/errors.ts';
import { noun } from '../nodepool/plural.ts';
import { withoutType } from '../nodepool/suggest.ts';

/** @param isNode whether a node has the name, where nodes were read */
export function poolNotFound(names: readonly string[], isNode: (name: string) => boolean = () => false): NodepoolError {
  const node = names.find(isNode);
  const next = node === undefined ? undefined : `"${node}" is a node: \`kubectl nodepool nodes --why ${node}\``;
  return notFound('nodepool', names, '', next ?? withoutType(names) ?? 'list the pools with `kubectl nodepool get`');
}

/** @param flag that named them, as `--nodes: ` */
export function nodesNotFound(names: readonly string[], flag = ''): NodepoolError {
  return notFound('node', names, flag, 'list the nodes with `kubectl get nodes`');
}

function notFound(what: string, names: readonly string[], flag: string, next: string): NodepoolError {
  const quoted = names.map(name => `"${name}"`).join(', ');
  return new NodepoolError('input', `${flag}${noun(names.length, what)} ${quoted} not found`, next);
}
