/** What to type, of ours or of kubectl's, where a command that takes names of pools is given a node, a pod or a type. */

/** These take a type before the name in kubectl. */
const TYPED = ['get', 'describe', 'edit', 'delete', 'top', 'wait'];
/** These take a node's name in kubectl. */
const OF_NODES = ['cordon', 'uncordon', 'drain'];

const TYPE_AND_NAME = /^(nodes?|no|pods?|po)\/(.+)$/;

/** For a user who typed the resource's type before the names, as kubectl has it: `get nodes`, `describe pod/web`. */
export function withoutType(command: string, words: readonly string[]): string | undefined {
  const [type = '', ...names] = splitTypes(words);
  if (/^(nodepools?(\.nodes\.lailin\.xyz)?|npools?|pools?)$/.test(type))
    return `leave out "${type}": names of pools follow the command`;
  const isNode = /^(nodes?|no)$/.test(type);
  if (!isNode && !/^(pods?|po)$/.test(type)) return undefined;
  const ours = isNode ? oursForNodes(command, names, 'POOL') : oursForPods(command, names);
  return `for ${isNode ? 'nodes' : 'pods'}: ${either(ours, theirsFor(command, type, names))}`;
}

/** @param pool the one that all the nodes are in; undefined: none */
export function forNodes(command: string, nodes: readonly string[], pool: string | undefined): string {
  const what = nodes.map(name => `"${name}"`).join(', ');
  const are = nodes.length === 1 ? 'is a node' : 'are nodes';
  const ours = oursForNodes(command, nodes, pool);
  return `${what} ${are} of ${pool === undefined ? 'no pool' : `pool ${pool}`}: ${either(ours, theirsFor(command, 'node', nodes))}`;
}

/** `node/a` as a user types it, and `kubectl get nodes -o name` prints it. */
function splitTypes(words: readonly string[]): string[] {
  const [, type] = TYPE_AND_NAME.exec(words[0] ?? '') ?? [];
  return type === undefined ? [...words] : [type, ...words.map(word => word.replace(TYPE_AND_NAME, '$2'))];
}

function theirsFor(command: string, type: string, names: readonly string[]): string | undefined {
  if (command === 'wait' && names.length > 0) return `kubectl wait ${names.map(name => `${type}/${name}`).join(' ')}`;
  if (TYPED.includes(command)) return ['kubectl', command, type, ...names].join(' ');
  const takesNames = OF_NODES.includes(command) && /^no/.test(type) && names.length > 0;
  return takesNames ? ['kubectl', command, ...names].join(' ') : undefined;
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
