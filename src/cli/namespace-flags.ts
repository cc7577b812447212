/** `-n` and `-A`, which a kubectl user types from habit: pools and nodes have no namespace. */
import { NodepoolError } from '../nodepool/errors.ts';
import { type ErrorIo, showNote } from './error-line.ts';

/** Commands whose result a namespace could be thought to narrow or to place. */
const NAMESPACED: Record<string, string> = {
  top: 'it counts the pods of all namespaces',
  drain: 'it evicts pods of all namespaces',
  view: 'it shows pods of all namespaces',
  install: 'the controller is installed in the namespace nodepool-system',
  uninstall: 'the controller is removed from the namespace nodepool-system',
};

/** Commands that only read, where "all namespaces" cannot be taken for "all pools". */
const READS = [
  'get',
  'describe',
  'nodes',
  'events',
  'diff',
  'top',
  'fit',
  'view',
  'wait',
  'doctor',
  'adopt',
  'version',
];

/** Commands about an object with a namespace. */
const OF_NAMESPACE = ['fit'];

/** Prints a note where the flags are harmless. Throws NodepoolError (usage) where they could mean something else. */
export function checkNamespaceFlags(
  flags: { namespace?: string | undefined; 'all-namespaces'?: boolean | undefined; 'log-format'?: unknown },
  command: string,
  io: ErrorIo,
): void {
  const { namespace, 'all-namespaces': all, 'log-format': logFormat } = flags;
  if (namespace !== undefined && Object.hasOwn(NAMESPACED, command)) {
    throw new NodepoolError('usage', `${command} has no --namespace: ${NAMESPACED[command]}`, 'leave it out');
  }
  if (all && !READS.includes(command)) {
    throw new NodepoolError('usage', `${command} has no --all-namespaces: pools are cluster-scoped`, 'leave it out');
  }
  if (namespace !== undefined && OF_NAMESPACE.includes(command)) return;
  const isIgnored = namespace !== undefined || (all === true && !Object.hasOwn(NAMESPACED, command));
  const flag = namespace === undefined ? '--all-namespaces' : '--namespace';
  // A JSON log has no other lines.
  if (isIgnored && logFormat !== 'json') {
    showNote(io, `note: pools and nodes are cluster-scoped; ${flag} is ignored`);
  }
}
