/** Bounds the size of a pool's status: etcd rejects objects of 1.5 MB, and every watch receives the status. */
import { ellipsize } from './cut-bytes.ts';
import { sortByReports } from './most-reported.ts';
import { MAX_RESOURCES } from './node-resources.ts';
import type { Node, ResourceList } from './types.ts';

/** The whole status as JSON. */
export const MAX_STATUS_BYTES = 64 * 1024;
/** The message of one condition as JSON: four of them leave half of the status for resources. */
const MAX_MESSAGE_BYTES = 8 * 1024;

/**
 * The sums that fit into the status: native resources first, then those that most members report, then by name. So one
 * node cannot displace resources that several nodes have.
 *
 * @param room for the sums as JSON, in bytes
 */
export function fitSums(sums: ResourceList, members: readonly Node[], room: number): ResourceList {
  const names = Object.keys(sums);
  if (names.length <= MAX_RESOURCES && jsonBytes(sums) <= room) return sums;
  const kept: [string, string][] = [];
  let bytes = jsonBytes({});
  const lists = members.map(({ allocatable }) => Object.keys(allocatable));
  for (const name of sortByReports(names, lists).slice(0, MAX_RESOURCES)) {
    const sum = sums[name] ?? '0';
    // Plus the colon and the comma.
    bytes += jsonBytes(name) + jsonBytes(sum) + 2;
    if (bytes > room) break;
    kept.push([name, sum]);
  }
  return Object.fromEntries(kept);
}

/** Truncates the message to 8 KiB of JSON. Escaped characters take up to six times their bytes. */
export function fitMessage(message: string): string {
  let fitted = message;
  for (let limit = MAX_MESSAGE_BYTES; jsonBytes(fitted) > MAX_MESSAGE_BYTES; limit /= 2) {
    fitted = ellipsize(message, limit);
  }
  return fitted;
}

export function jsonBytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}
