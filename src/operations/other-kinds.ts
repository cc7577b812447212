/** What to type, of ours or of kubectl's, where a command that takes names of pools is given a node, a pod or a type. */

/** These take a type before the name in kubectl. */
const TYPED = ['get', 'describe', 'edit', 'delete', 'top', 'wait'];
/** These take a node's name in kubectl. */
const OF_NODES = ['cordon', 'uncordon', 'drain'];

/** For a user who typed the resource's type before the names, as kubectl has it: `get nodes`, `describe pool web`. */
export function withoutType(command: string, [type = '', ...names]: readonly string[]): string | undefined {
  if (/^(nodepools?|npools?|pools?)$/.test(type)) return `leave out "${type}": names of pools follow the command`;
  const isNode = /^(nodes?|no)$/.test(type);
  if (!isNode && !/^(pods?|po)$/.test(type)) return undefined;
  const ours = isNode ? oursForNodes(command, names, 'POOL') : oursForPods(command, names);
  const theirs = TYPED.includes(command) ? `kubectl ${[command, type, ...names].join(' ')}` : undefined;
  return `for ${isNode ? 'nodes' : 'pods'}: ${either(ours, theirs)}`;
}

/** @param pool the one that all the nodes are in; undefined: none */
export function forNodes(command: string, nodes: readonly string[], pool: string | undefined): string {
  const what = nodes.map(name => `"${name}"`).join(', ');
  const are = nodes.length === 1 ? 'is a node' : 'are nodes';
  const type = OF_NODES.includes(command) ? [] : ['node'];
  const hasTheirs = TYPED.includes(command) || (OF_NODES.includes(command) && pool === undefined);
  const theirs = hasTheirs ? ['kubectl', command, ...type, ...nodes].join(' ') : undefined;
  return `${what} ${are} of ${pool === undefined ? 'no pool' : `pool ${pool}`}: ${either(oursForNodes(command, nodes, pool), theirs)}`;
}

function oursForNodes(command: string, nodes: readonly string[], pool: string | undefined): string | undefined {
  const [first = 'NODE'] = nodes;
  const isNone = pool === undefined;
  if (OF_NODES.includes(command)) return isNone ? undefined : `${command} ${pool} --node ${nodes.join(',') || first}`;
  switch (command) {
    case 'top':
      if (nodes.length === 0) return 'top --nodes';
      return isNone ? undefined : `top ${pool} --nodes`;
    case 'delete':
      return isNone ? undefined : `remove ${pool} ${nodes.join(' ') || 'NODE...'}`;
    case 'edit':
    case 'wait':
      return undefined;
    default:
      return nodes.length === 0 ? 'nodes' : `nodes --why ${first}`;
  }
}

function oursForPods(command: string, pods: readonly string[]): string | undefined {
  return TYPED.includes(command) && (command !== 'top' || pods.length > 0) ? undefined : 'top --pods';
}

function either(ours: string | undefined, theirs: string | undefined): string {
  const commands = [
    ...(ours === undefined ? [] : [`kubectl nodepool ${ours}`]),
    ...(theirs === undefined ? [] : [theirs]),
  ];
  return commands.map(each => `\`${each}\``).join(' or ');
}
