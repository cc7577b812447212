/** Custom resources that name labels of nodes in fields that are known beforehand. */
import { isObject } from '../../nodepool/json.ts';
import type { CustomSelecting, SelectorPath } from '../../operations/impact-port.ts';
import { namesLabel } from '../../scheduling/impact/selecting.ts';
import type { KeyUse, Selecting } from '../../scheduling/impact/types.ts';
import type { Api } from './api.ts';
import { servedResources } from './discovery.ts';

interface CustomObject {
  metadata?: { name?: string; namespace?: string };
}

/** One request for discovery, and one list for each resource that is served. */
export async function listCustom(
  api: Api,
  paths: readonly SelectorPath[],
  labels: readonly string[],
): Promise<CustomSelecting> {
  const byResource = Map.groupBy(paths, ({ resource }) => resource);
  const served = await servedResources(api, [...byResource.keys()]);
  const set = new Set<SelectorPath>();
  const hasObjects = new Set<string>();
  const lists = [...served].map(([name, resource]) =>
    api.list(resource, (object: CustomObject): Selecting | undefined => {
      const found = new Map<string, Set<string>>();
      hasObjects.add(name);
      for (const path of byResource.get(name) ?? []) {
        const { fields } = path;
        const value = valuesAt(object, fields);
        if (isSet(value)) set.add(path);
        for (const label of labels) {
          // The same path may be a well-known one, and given, too.
          if (namesLabel(value, label)) found.set(label, (found.get(label) ?? new Set()).add(`.${fields.join('.')}`));
        }
      }
      const keys = new Map<string, KeyUse[]>(
        [...found].map(([label, wheres]) => [label, [{ where: [...wheres].join(', ') }]]),
      );
      const { name: called = '', namespace = '' } = object.metadata ?? {};
      return keys.size === 0 ? undefined : { kind: resource.kind, namespace, name: called, keys };
    }),
  );
  const selecting = (await Promise.all(lists)).flat();
  const unset = paths.flatMap(path => {
    const kind = hasObjects.has(path.resource) && !set.has(path) ? served.get(path.resource)?.kind : undefined;
    return kind === undefined ? [] : [{ path, kind }];
  });
  return { selecting, unserved: paths.filter(({ resource }) => !served.has(resource)), unset };
}

/** Of a list on the way, in one of its items; in an empty one nobody knows. @param value of valuesAt() */
function isSet(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 || value.some(isSet) : value !== undefined;
}

/** Of a list on the way, the values in each of its items. */
function valuesAt(value: unknown, fields: readonly string[]): unknown {
  const [field, ...rest] = fields;
  if (field === undefined) return value;
  if (Array.isArray(value)) return value.map(item => valuesAt(item, fields));
  return isObject(value) && Object.hasOwn(value, field) ? valuesAt(value[field], rest) : undefined;
}
