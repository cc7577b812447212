/** Snapshots of an API server's etcd, and their restore, over etcd's JSON gateway. */

/** A key's revision, and its value in base64. */
interface Kept {
  revision: string;
  value: string;
}

/** By key. Keys and values are in base64, as the gateway has them. */
export type Keys = ReadonlyMap<string, Kept>;

interface KeyValue {
  key: string;
  mod_revision: string;
  value?: string;
}

const encode = (text: string) => Buffer.from(text).toString('base64');
const decode = (text: string) => Buffer.from(text, 'base64').toString('utf8');
const ALL = { key: encode('\0'), range_end: encode('\0') };
/** Keys that the API server writes regularly. */
const ITS_OWN =
  /^\/registry\/(masterleases|ranges|peerserverleases|leases\/kube-system\/apiserver|endpointslices\/default\/kubernetes|services\/endpoints\/default\/kubernetes)/;
/** Keys that decide what the API server serves. */
const SERVED = /^\/registry\/apiextensions\.k8s\.io\//;
/** etcd takes 128 in one transaction. */
const MAX_AT_ONCE = 100;

/** @param etcd http://HOST:PORT */
export async function readKeys(etcd: string): Promise<Keys> {
  const { kvs = [] } = (await askEtcd(etcd, 'range', ALL)) as { kvs?: KeyValue[] };
  return new Map(kvs.map(({ key, mod_revision: revision, value = '' }) => [key, { revision, value }]));
}

/** The keys that users and controllers wrote, with their revisions. */
export async function writtenKeys(etcd: string): Promise<Record<string, string>> {
  const keys = [...(await readKeys(etcd))].map(([key, { revision }]) => [decode(key), revision] as const);
  return Object.fromEntries(keys.filter(([key]) => !ITS_OWN.test(key)));
}

/**
 * Deletes keys that were added since and restores those that were changed or deleted; the API server sees these as
 * changes. Returns false and does nothing when CRDs have changed, as the API server may serve the old ones for a while.
 */
export async function restoreKeys(etcd: string, before: Keys): Promise<boolean> {
  const { kvs = [] } = (await askEtcd(etcd, 'range', { ...ALL, keys_only: true })) as { kvs?: KeyValue[] };
  const isMeant = (key: string) => !ITS_OWN.test(decode(key));
  const now = new Map(kvs.map(({ key, mod_revision }) => [key, mod_revision]));
  const added = [...now.keys()].filter(key => isMeant(key) && !before.has(key));
  const changed = [...before].filter(([key, { revision }]) => isMeant(key) && now.get(key) !== revision);
  if ([...added, ...changed.map(([key]) => key)].some(key => SERVED.test(decode(key)))) return false;
  const operations = [
    ...added.map(key => ({ request_delete_range: { key } })),
    ...changed.map(([key, { value }]) => ({ request_put: { key, value } })),
  ];
  for (let at = 0; at < operations.length; at += MAX_AT_ONCE)
    await askEtcd(etcd, 'txn', { success: operations.slice(at, at + MAX_AT_ONCE) });
  return true;
}

/** The answer to a call of `/v3/kv/`; throws with what etcd says of one that it refuses. @param etcd http://HOST:PORT */
export async function askEtcd(etcd: string, path: string, body: object): Promise<unknown> {
  const response = await fetch(`${etcd}/v3/kv/${path}`, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`etcd: ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}
