/** What LimitRanges do to pods that are created again: running pods may be older than the LimitRange. */
import type { ResourceList } from '../nodepool/types.ts';

export interface LimitRangeEffects {
  namespace: string;
  /** `LimitRange default/small` */
  text: string;
  /** Containers without a request for them get a default. */
  defaults: string[];
  /** It may refuse pods: `max, min`; empty: it refuses none. */
  rules: string;
}

export interface RawLimitRange {
  metadata?: { namespace?: string; name?: string };
  spec?: { limits?: LimitRangeItem[] };
}

interface LimitRangeItem extends Partial<Record<(typeof RULES)[number], ResourceList>> {
  type?: string;
  default?: ResourceList;
  defaultRequest?: ResourceList;
}

const RULES = ['max', 'min', 'maxLimitRequestRatio'] as const;
/** Those that the scheduler knows. */
const WITH_DEFAULTS = ['cpu', 'memory', 'ephemeral-storage'];

/** Undefined: no pod is concerned. A default limit is also the default request. */
export function limitRangeEffects({ metadata = {}, spec = {} }: RawLimitRange): LimitRangeEffects | undefined {
  const { namespace = '', name = '' } = metadata;
  const ofPods = (spec.limits ?? []).filter(({ type }) => type === 'Container' || type === 'Pod');
  const rules = RULES.filter(rule => ofPods.some(each => Object.keys(each[rule] ?? {}).length > 0)).join(', ');
  const ofContainers = ofPods.filter(({ type }) => type === 'Container');
  const names = new Set(ofContainers.flatMap(each => Object.keys({ ...each.default, ...each.defaultRequest })));
  const defaults = WITH_DEFAULTS.filter(each => names.has(each));
  if (defaults.length === 0 && rules === '') return undefined;
  return { namespace, text: `LimitRange ${namespace}/${name}`, defaults, rules };
}
