/** Pods that find no place, a line for each reason: the pods of a StatefulSet differ in a label or a volume, and have the same. */
import { firstFew, plural } from '../../nodepool/plural.ts';
import { type FitReason, reasonsText } from '../../scheduling/fit-reasons.ts';

/** Pods named in a line. */
const SHOWN = 3;
/** Where there are more pods, their owners. */
const SHOWN_OWNERS = 5;

export interface UnfitPods {
  /** `StatefulSet data/db`. */
  owner: string;
  names: string[];
  /** Empty: there is no other node. */
  reasons: FitReason[];
}

export function unfitLines(unfit: readonly UnfitPods[]): string[] {
  const alike = Map.groupBy(unfit, ({ owner, reasons }) => `${owner} ${reasonsText(reasons, true)}`);
  const ofOwners = [...alike.values()].map(together);
  return [...Map.groupBy(ofOwners, whyText)].map(([why, groups]) => {
    const pods = groups.flatMap(({ names }) => names);
    return `${plural(pods.length, 'pod')} would not fit: ${why}: ${namesText(groups)}`;
  });
}

/** Of one owner, with the same reasons but for their details, as the names of their volumes. */
function together(groups: readonly UnfitPods[]): UnfitPods {
  const [{ owner, reasons } = { owner: '', reasons: [] }] = groups;
  const names = groups.flatMap(each => each.names);
  const details = (at: number) => [...new Set(groups.flatMap(each => each.reasons[at]?.details ?? []))];
  return { owner, names, reasons: reasons.map((reason, at) => ({ ...reason, details: details(at) })) };
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
