/** Nodes as users type them: by name, or `ip-10-0-1-15` for `ip-10-0-1-15.eu-west-1.compute.internal`. */
import type { NodesClient } from '../../../kube/cluster.ts';
import { ifRefused, NodepoolError } from '../../../nodepool/errors.ts';
import { firstFew, suggest } from '../../../nodepool/text.ts';
import type { Node } from '../../../nodepool/types.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';
import { begunWith, isShortFor, nodesNotFound } from './not-found.ts';

/** Maximum names in an error. */
const MAX_NAMED = 5;

/** The same name, else the only one with this prefix and a dot. Throws if several match. @param flag `--nodes: ` */
export function fullName(name: string, known: readonly string[], flag = ''): string | undefined {
  const [found, ...others] = matching(name, known);
  if (found === undefined || others.length === 0) return found;
  throw new NodepoolError(
    'input',
    `${flag}node "${name}" is ambiguous: ${firstFew([found, ...others].toSorted(), MAX_NAMED)}`,
    'use the full name',
  );
}

function matching(name: string, known: readonly string[]): string[] {
  return known.includes(name) ? [name] : known.filter(each => isShortFor(name, each));
}

/** For messages about unknown pools: the node with that name, if there is one. */
export function nodeIn(state: ClusterState): (name: string) => { owner: string | undefined; name: string } | undefined {
  return name => {
    const [found, ...others] = matching(
      name,
      [...state.nodes()].map(node => node.name),
    );
    return found === undefined || others.length > 0 ? undefined : { owner: state.ownership(found)?.owner, name: found };
  };
}

/** The full name of each, without duplicates. Throws if one does not exist, with similar names. */
export function fullNames(names: readonly string[], known: readonly string[], flag = ''): string[] {
  const found = names.map(name => fullName(name, known, flag));
  const missing = names.filter((_, index) => found[index] === undefined);
  if (missing.length > 0) throw nodesNotFound(missing, flag, similarNodes(missing, known));
  return [...new Set(found.filter(name => name !== undefined))];
}

/** A name that differs only in numbers is not similar: `web-2` may be meant for `web-20`, but not for `web-3`. */
export function similarNodes(names: readonly string[], known: readonly string[]): string[] {
  const similar = names.flatMap(name => {
    const begun = begunWith(name, known);
    if (begun.length > 0) return begun;
    const isOther = (each: string) => withoutNumbers(each) === withoutNumbers(name);
    const nodes = known
      .map(node => ({ node, short: node.split('.', 1)[0] ?? '' }))
      .filter(({ short }) => !isOther(short));
    const near = suggest(
      name,
      nodes.flatMap(({ node, short }) => [short, node]),
    );
    return nodes.find(({ node, short }) => short.endsWith(`-${name}`) || near === short || near === node)?.node ?? [];
  });
  return [...new Set(similar)];
}

/** Keeps random parts, such as `a1b2`. */
function withoutNumbers(name: string): string {
  return name.replaceAll(/\b([a-z]*)\d+\b/g, '$1');
}

/** Gets each node by name, and lists all nodes only if a name is not found. Throws if a node does not exist. */
export async function namedNodes(
  names: readonly string[],
  nodes: Pick<NodesClient, 'get' | 'list'>,
  flag = '',
): Promise<Node[]> {
  const unique = [...new Set(names)];
  const found = await Promise.all(unique.map(name => nodes.get(name)));
  if (!found.includes(undefined)) return found.filter(node => node !== undefined);
  const listed = await nodes.list().catch(ifRefused(undefined));
  const missing = unique.filter((_, index) => found[index] === undefined);
  if (listed === undefined) throw nodesNotFound(missing, flag);
  const byName = new Map(listed.map(node => [node.name, node]));
  return fullNames(unique, [...byName.keys()], flag).flatMap(name => byName.get(name) ?? []);
}
