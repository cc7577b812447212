/** What was named and is not there. */
import { NodepoolError } from '../nodepool/errors.ts';

export function poolNotFound(names: readonly string[]): NodepoolError {
  return notFound('nodepool', names, '', 'list the pools with `kubectl nodepool get`');
}

/** @param flag that named them, as `--nodes: ` */
export function nodesNotFound(names: readonly string[], flag = ''): NodepoolError {
  return notFound('node', names, flag, 'list the nodes with `kubectl get nodes`');
}

function notFound(noun: string, names: readonly string[], flag: string, next: string): NodepoolError {
  const what = names.map(name => `"${name}"`).join(', ');
  return new NodepoolError('input', `${flag}${names.length === 1 ? noun : `${noun}s`} ${what} not found`, next);
}
