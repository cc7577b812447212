/** Errors for names that do not exist. */
import { forNodes, withoutType } from '../../../cli/unknown/unknown-flag.ts';
import type { NodePoolsClient, NodesClient, RawPool } from '../../../kube/cluster.ts';
import { ifRefused, NodepoolError } from '../../../nodepool/errors.ts';
import { type MatchLabels, parseLabelSelector } from '../../../nodepool/membership/label-selector.ts';
import { parseRecord } from '../../../nodepool/plan/record.ts';
import { noun, suggest } from '../../../nodepool/text.ts';

interface KnownNames {
  /** Names of pools, if they were read. */
  pools?: readonly string[];
  /** The node with that name, if nodes were read; includes its full name if that differs. */
  node?: (name: string) => { owner: string | undefined; name?: string } | undefined;
}

/** Suggests a pool with a similar name, or a command for nodes or pods. @param command that ran */
export function poolNotFound(
  command: string,
  names: readonly string[],
  { pools = [], node = () => undefined }: KnownNames = {},
): NodepoolError {
  const next = nodesInstead(command, names, node) ?? withoutType(command, names);
  if (next !== undefined) return notFound('nodepool', names, '', next);
  const meant = names.flatMap(name => {
    const begun = begunWith(name, pools);
    return begun.length > 0 ? begun : (suggest(name, pools) ?? []);
  });
  if (meant.length === 0) return notFound('nodepool', names, '', 'list the pools with `kubectl nodepool get`');
  return notFound('nodepool', names, '', undefined, meantText([...new Set(meant)]));
}

/** Maximum number of names to suggest for one name. */
const MAX_SIMILAR = 3;

/** The first names that begin with the typed one; a single letter is no hint. */
export function begunWith(typed: string, known: readonly string[]): string[] {
  if (typed.length < 2) return [];
  return known
    .filter(name => name.startsWith(typed))
    .toSorted()
    .slice(0, MAX_SIMILAR);
}

/** An error per name, so that existing pools are still shown; one for all names after a type, which they belong to. */
export function poolsNotFound(command: string, names: readonly string[], known: KnownNames = {}): NodepoolError[] {
  if (withoutType(command, names) !== undefined) return [poolNotFound(command, names, known)];
  return names.map(name => poolNotFound(command, [name], known));
}

function nodesInstead(
  command: string,
  names: readonly string[],
  node: NonNullable<KnownNames['node']>,
): string | undefined {
  const nodes = names.flatMap(typed => {
    const name = typed.replace(/^(?:nodes?|no)\//, '');
    const found = node(name);
    return found === undefined ? [] : [{ name, ...found }];
  });
  const [first] = nodes;
  if (first === undefined) return undefined;
  const ofPool = nodes.filter(({ owner }) => owner === first.owner).map(({ name }) => name);
  return forNodes(command, ofPool, first.owner);
}

export interface NamesDeps {
  pools: Pick<NodePoolsClient, 'firstNames'>;
  nodes: Pick<NodesClient, 'get' | 'list'>;
}

/** Names of pools, and the node with the first, possibly short, name: one request each. Ignores refusals. */
export async function namesToSuggest(
  command: string,
  missing: readonly string[],
  { pools, nodes }: NamesDeps,
): Promise<KnownNames> {
  const [first] = missing;
  if (first === undefined || withoutType(command, missing) !== undefined) return {};
  const [names, named] = await Promise.all([pools.firstNames(), nodes.get(first).catch(ifRefused(undefined))]);
  const isPool = suggest(first, names) !== undefined;
  const listed = named !== undefined || isPool ? [] : await nodes.list().catch(ifRefused([]));
  const short = listed.filter(node => isShortFor(first, node.name));
  const found = named ?? (short.length === 1 ? short[0] : undefined);
  if (found === undefined) return { pools: names };
  const meant = { owner: parseRecord(found.record)?.pool, name: found.name };
  return { pools: names, node: name => (name === first ? meant : undefined) };
}

/** True for `ip-10-0-1-15` and `ip-10-0-1-15.eu-west-1.compute.internal`. */
export function isShortFor(typed: string, name: string): boolean {
  return name.startsWith(`${typed}.`);
}

/** Reads a pool that must exist. @param command that needs it */
export async function existingPool(
  command: string,
  name: string,
  cluster: NamesDeps & { pools: Pick<NodePoolsClient, 'get'> },
): Promise<RawPool> {
  const pool = await cluster.pools.get(name);
  if (pool !== undefined) return pool;
  throw poolNotFound(command, [name], await namesToSuggest(command, [name], cluster));
}

/** @param flag with the names, such as `--nodes: ` @param similar names of nodes to suggest */
export function nodesNotFound(names: readonly string[], flag = '', similar: readonly string[] = []): NodepoolError {
  if (similar.length > 0) return notFound('node', names, flag, undefined, meantText(similar));
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

/** The end of an error message. */
export function meantText(similar: readonly string[]): string {
  return `; did you mean ${quoted(similar)}?`;
}

function quoted(names: readonly string[]): string {
  return names.map(name => `"${name}"`).join(', ');
}

/** If the server rejects a list, the selector in the command line is wrong: `input` becomes `usage`. */
export function selectorError(
  error: unknown,
  flag: string,
  selector: string,
  next = 'write it like a=b,c!=d,e',
): unknown {
  if (!(error instanceof NodepoolError) || error.kind !== 'input') return error;
  return new NodepoolError('usage', `${flag} "${selector}": ${error.message}`, next, { cause: error });
}

/** Parses the selector of `-l`. */
export function readSelector(selector: string): MatchLabels {
  try {
    return parseLabelSelector(selector);
  } catch (error) {
    throw selectorError(error, '-l', selector);
  }
}
