/** What was named and is not there. */

import { NodepoolError } from '../nodepool/errors.ts';
import { noun } from '../nodepool/plural.ts';

/** @param isNode whether a node has the name, where nodes were read */
export function poolNotFound(names: readonly string[], isNode: (name: string) => boolean = () => false): NodepoolError {
  const node = names.find(isNode);
  const next = node === undefined ? undefined : `"${node}" is a node: \`kubectl nodepool nodes --why ${node}\``;
  return notFound('nodepool', names, '', next ?? withoutType(names) ?? 'list the pools with `kubectl nodepool get`');
}

/** The next step for a kubectl user who typed the resource's type before the name. */
export function withoutType(names: readonly string[]): string | undefined {
  const type = names.find(name => /^(nodepools?|npools?|pools?|nodes?|no)$/.test(name));
  if (type === undefined) return undefined;
  if (/^no(des?)?$/.test(type)) return 'list the nodes of pools with `kubectl nodepool nodes`';
  return `leave out "${type}": names of pools follow the command`;
}

/** @param flag that named them, as `--nodes: ` */
export function nodesNotFound(names: readonly string[], flag = ''): NodepoolError {
  return notFound('node', names, flag, 'list the nodes with `kubectl get nodes`');
}

function notFound(what: string, names: readonly string[], flag: string, next: string): NodepoolError {
  const quoted = names.map(name => `"${name}"`).join(', ');
  return new NodepoolError('input', `${flag}${noun(names.length, what)} ${quoted} not found`, next);
}
