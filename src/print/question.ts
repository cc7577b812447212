/** The form of every question, and of the error of a script that would have to be asked: each fact once. */
import { firstFew, plural } from '../nodepool/text.ts';
import { sanitizeLine } from './sanitize.ts';
import { wrapWords } from './width.ts';

export interface QuestionFacts {
  /** What is done to which pools and nodes: `Delete pool gpu (releases 2 nodes)`. */
  action: string;
  /** `context prod`; undefined: nobody has named the cluster. */
  where: string | undefined;
  /** What is lost, the most important first. */
  losses?: readonly string[];
}

const MAX_LINES = 8;
const MAX_NODES = 3;
/** Characters of the names of nodes: those of clouds have 40, and what is lost needs the room. */
const MAX_NAMES_LENGTH = 80;

/** Losses that do not fit into a few lines are counted; the first one is always said. */
export function questionLines({ action, where, losses = [] }: QuestionFacts, width: number): string[] {
  const head = where === undefined ? action : `${action} in ${where}`;
  for (let shown = losses.length; ; shown--) {
    const more = losses.length - shown;
    const said = [...losses.slice(0, shown), ...(more > 0 ? [`and ${more} more`] : [])];
    const text = `${head}${said.length === 0 ? '' : `: ${said.join('; ')}`}?`;
    // A space that does not break: the answer stands behind the last word.
    const lines = wrapWords(`${sanitizeLine(text)}\u00a0[y/N]`, width).map(line => line.replace('\u00a0[', ' ['));
    if (lines.length <= MAX_LINES || shown <= 1) return lines;
  }
}

/** `the cluster` as people know it: the context of the kubeconfig, else the name of the cluster there. */
export function whereText({ contextName, clusterName }: ClusterNames): string | undefined {
  if (contextName !== undefined) return `context ${contextName}`;
  return clusterName === '' ? undefined : `cluster ${clusterName}`;
}

export interface ClusterNames {
  contextName: string | undefined;
  clusterName: string;
}

/** `3 nodes (a, b, c)`, `25 nodes (a, b, c and 22 more)` */
export function nodesText(names: readonly string[]): string {
  const named = names.length === 0 ? '' : ` (${fewNames(names)})`;
  return `${plural(names.length, 'node')}${named}`;
}

/** `a, b, c and 22 more`, of long names fewer. */
export function fewNames(names: readonly string[]): string {
  let most = MAX_NODES;
  while (most > 1 && names.slice(0, most).join(', ').length > MAX_NAMES_LENGTH) most--;
  return firstFew(names, most);
}

/** Names of the nodes whose labels, taints or pods the plans change, each once: not those of which only the record is written. */
export function changedNodes(plans: readonly (NodeChange & { node: { name: string } })[]): string[] {
  return [...new Set(plans.filter(isChanging).map(({ node }) => node.name))];
}

interface NodeChange {
  changes: readonly unknown[];
  drain?: unknown;
}

/** Whether labels, taints or pods change, not the record alone. */
export function isChanging({ changes, drain }: NodeChange): boolean {
  return changes.length > 0 || drain !== undefined;
}
