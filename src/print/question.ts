/** The format of every question, and of the error for scripts that cannot be asked: each fact once. */
import { sanitizeLine } from './sanitize.ts';
import { wrapWords } from './width.ts';

export interface QuestionFacts {
  /** The action with its pools and nodes: `Delete pool gpu (releases 2 nodes)`. */
  action: string;
  /** `context prod`; undefined if the cluster has no name. */
  where: string | undefined;
  /** The losses, most important first. */
  losses?: readonly string[];
}

const MAX_LINES = 8;

/** Losses that do not fit into a few lines are only counted; the first one is always printed. */
export function questionLines({ action, where, losses = [] }: QuestionFacts, width: number): string[] {
  const head = where === undefined ? action : `${action} in ${where}`;
  for (let shown = losses.length; ; shown--) {
    const more = losses.length - shown;
    const said = [...losses.slice(0, shown), ...(more > 0 ? [`and ${more} more`] : [])];
    const text = `${head}${said.length === 0 ? '' : `: ${said.join('; ')}`}?`;
    // A non-breaking space keeps the answer next to the last word.
    const lines = wrapWords(`${sanitizeLine(text)}\u00a0[y/N]`, width).map(line => line.replace('\u00a0[', ' ['));
    if (lines.length <= MAX_LINES || shown <= 1) return lines;
  }
}

/** The cluster's name for people: the context of the kubeconfig, else the name of its cluster. */
export function whereText({ contextName, clusterName }: ClusterNames): string | undefined {
  if (contextName !== undefined) return `context ${contextName}`;
  return clusterName === '' ? undefined : `cluster ${clusterName}`;
}

export interface ClusterNames {
  contextName: string | undefined;
  clusterName: string;
}

/** Names of nodes whose labels, taints or pods change, without duplicates; ignores changes of the record alone. */
export function changedNodes(plans: readonly (NodeChange & { node: { name: string } })[]): string[] {
  return [...new Set(plans.filter(isChanging).map(({ node }) => node.name))];
}

interface NodeChange {
  changes: readonly unknown[];
  drain?: unknown;
}

/** Whether labels, taints or pods change, not only the record. */
export function isChanging({ changes, drain }: NodeChange): boolean {
  return changes.length > 0 || drain !== undefined;
}
