import { isObject, own } from '../../../nodepool/json.ts';

/**
 * Whether an object on the server has everything as a manifest says. A list has the same items in the same order.
 * @param mayAdd whether a field that the manifest leaves out may have the value
 */
export function isAsWanted(wanted: unknown, live: unknown, mayAdd: (key: string, value: unknown) => boolean): boolean {
  const isSame = (item: unknown, other: unknown) => isAsWanted(item, other, mayAdd);
  if (Array.isArray(wanted)) {
    return Array.isArray(live) && live.length === wanted.length && wanted.every((item, at) => isSame(item, live[at]));
  }
  if (!isObject(wanted)) return wanted === live;
  if (!isObject(live)) return false;
  return (
    Object.entries(wanted).every(([key, value]) => isSame(value, own(live, key))) &&
    Object.entries(live).every(([key, value]) => Object.hasOwn(wanted, key) || mayAdd(key, value))
  );
}
