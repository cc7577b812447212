/** The requests that LimitRanges give to containers without any. Pods that were created earlier lack them. */
import type { ResourceList } from '../nodepool/types.ts';

export interface RequestDefaults {
  namespace: string;
  /** `LimitRange default/small (cpu)` */
  text: string;
  /** Containers without a request for them get a default. */
  resources: string[];
}

export interface RawLimitRange {
  metadata?: { namespace?: string; name?: string };
  spec?: { limits?: { type?: string; default?: ResourceList; defaultRequest?: ResourceList }[] };
}

/** Undefined: it has no defaults. A default limit is also the default request. */
export function requestDefaults({ metadata = {}, spec = {} }: RawLimitRange): RequestDefaults | undefined {
  const { namespace = '', name = '' } = metadata;
  const ofContainers = (spec.limits ?? []).filter(({ type }) => type === 'Container');
  const names = ofContainers.flatMap(each => [
    ...Object.keys(each.default ?? {}),
    ...Object.keys(each.defaultRequest ?? {}),
  ]);
  const resources = [...new Set(names)].filter(each => each === 'cpu' || each === 'memory');
  if (resources.length === 0) return undefined;
  return { namespace, text: `LimitRange ${namespace}/${name} (${resources.join(', ')})`, resources };
}
