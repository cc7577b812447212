/** Lines about pods that fit nowhere, one per reason: pods of a StatefulSet differ in a label or volume only. */
import { firstFew, plural } from '../../nodepool/text.ts';
import { type FitReason, reasonsText } from '../../scheduling/fit-reasons.ts';

const SHOWN = 3;
/** With more owners, only this many are named. */
const SHOWN_OWNERS = 5;

export interface UnfitPods {
  /** `StatefulSet data/db`. */
  owner: string;
  names: string[];
  /** Empty if there is no other node. */
  reasons: readonly WhyUnfit[];
  /** They fit if the scheduler uses the right nodes first. */
  mayFit?: boolean;
}

/** `nodes`: how many nodes give the reason; undefined: the reason is not about nodes. */
export type WhyUnfit = Omit<FitReason, 'nodes'> & { nodes: number | undefined };

export function unfitLines(unfit: readonly UnfitPods[]): string[] {
  const alike = Map.groupBy(unfit, each => `${each.owner} ${mayText(each)} ${reasonsText(each.reasons, true)}`);
  const ofOwners = [...alike.values()].map(together);
  return [...Map.groupBy(ofOwners, each => `${mayText(each)} not fit: ${whyText(each)}`)].map(([what, groups]) => {
    const pods = groups.flatMap(({ names }) => names);
    return `${plural(pods.length, 'pod')} ${what}: ${namesText(groups)}`;
  });
}

/** Merges pods of one owner whose reasons differ only in details, such as volume names. */
function together(groups: readonly UnfitPods[]): UnfitPods {
  const [{ owner, reasons, mayFit = false } = { owner: '', reasons: [] as readonly WhyUnfit[] }] = groups;
  const names = groups.flatMap(each => each.names);
  const details = (at: number) => [...new Set(groups.flatMap(each => each.reasons[at]?.details ?? []))];
  return { owner, names, reasons: reasons.map((reason, at) => ({ ...reason, details: details(at) })), mayFit };
}

function mayText({ mayFit = false }: UnfitPods): string {
  return mayFit ? 'may' : 'would';
}

function whyText({ reasons }: UnfitPods): string {
  return reasons.length === 0 ? 'there is no other node' : reasonsText(reasons);
}

function namesText(groups: readonly UnfitPods[]): string {
  const pods = groups.flatMap(({ names }) => names);
  if (groups.length === 1 || pods.length <= SHOWN) return firstFew(pods, SHOWN);
  const bySize = groups.toSorted((a, b) => b.names.length - a.names.length);
  const owners = bySize.map(({ owner, names }) =>
    names.length === 1 ? (names[0] ?? '') : `${names.length} of ${owner}`,
  );
  const others = bySize.slice(SHOWN_OWNERS).flatMap(({ names }) => names);
  const more = others.length === 0 ? '' : ` and ${others.length} of others`;
  return owners.slice(0, SHOWN_OWNERS).join(', ') + more;
}
