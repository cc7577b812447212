/** Whether manifests/protect-records.yaml and protect-membership.yaml, which bind kubelets, are in force. */
import { isObject, own } from '../nodepool/json.ts';
import { attempt } from './attempt.ts';
import type { ManifestObject, ManifestsPort } from './ports.ts';

/** The policy that keeps kubelets from the labels by which pools select, and its binding, neither of which works alone. */
export const MEMBERSHIP = 'protect-membership.nodes.lailin.xyz';

/** What the server adds to a policy, beside empty selectors. */
const DEFAULTS: Readonly<Record<string, unknown>> = { matchPolicy: 'Equivalent', scope: '*' };

/**
 * The names of those that are not in force: an object is missing, or is not as this version has it.
 * @param policies policies and bindings
 */
export async function policiesOff(
  policies: readonly ManifestObject[],
  { get }: Pick<ManifestsPort, 'get'>,
): Promise<string[]> {
  const live = await Promise.all(policies.map(get));
  return [...new Set(policies.flatMap((wanted, at) => (isInForce(wanted, live[at]) ? [] : [wanted.metadata.name])))];
}

/** False where they may not be read. @param policies as in policiesOff(), others too */
export async function isMembershipProtected(
  policies: readonly ManifestObject[],
  port: Pick<ManifestsPort, 'get'>,
): Promise<boolean> {
  const membership = policies.filter(({ metadata }) => metadata.name === MEMBERSHIP);
  const off = await attempt(() => policiesOff(membership, port));
  return 'value' in off && off.value.length === 0;
}

function isInForce({ spec }: ManifestObject, live: ManifestObject | undefined): boolean {
  return live !== undefined && isSame(spec, live.spec);
}

/** Nothing may be added either: a rule or selector more excludes requests. */
function isSame(wanted: unknown, live: unknown): boolean {
  if (Array.isArray(wanted)) {
    return Array.isArray(live) && live.length === wanted.length && wanted.every((item, at) => isSame(item, live[at]));
  }
  if (!isObject(wanted)) return wanted === live;
  if (!isObject(live)) return false;
  return [...new Set([...Object.keys(wanted), ...Object.keys(live)])].every(key => {
    const value = own(live, key);
    return Object.hasOwn(wanted, key) ? isSame(wanted[key], value) : isEmpty(value) || value === own(DEFAULTS, key);
  });
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
