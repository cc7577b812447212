/** Administration of etcd over its JSON gateway. */
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { askEtcd } from '../cluster/etcd-keys.ts';

/** Compacts up to the newest revision, and returns it. @param etcd http://HOST:PORT */
export async function compact(etcd: string): Promise<string> {
  const answer = await askEtcd(etcd, 'range', { key: Buffer.from('/').toString('base64') });
  const { header } = answer as { header: { revision: string } };
  await askEtcd(etcd, 'compaction', { revision: header.revision, physical: true });
  return header.revision;
}

export interface Change {
  key: string;
  /** Undefined for a deletion. */
  value: Buffer | undefined;
  /** Whether the key did not exist before. */
  isNew: boolean;
  /** Of the whole store. */
  revision: number;
}

/** Calls back for every later change below a key, in order. Resolves once it has started, with a function that ends it. */
export async function follow(etcd: string, prefix: string, tell: (change: Change) => void): Promise<() => void> {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const end = new AbortController();
  const request = { key: base64(`${prefix}/`), range_end: base64(`${prefix}0`) };
  const body = JSON.stringify({ create_request: request });
  const response = await fetch(`${etcd}/v3/watch`, { method: 'POST', body, signal: end.signal });
  if (response.body === null) throw new Error(`etcd: watch: ${response.status}`);
  const begun = Promise.withResolvers<void>();
  const read = async (lines: AsyncIterable<string>) => {
    for await (const line of lines) {
      const { result } = JSON.parse(line) as WatchLine;
      if (result.created) begun.resolve();
      for (const { type, kv } of result.events ?? []) {
        const value = type === 'DELETE' ? undefined : Buffer.from(kv.value ?? '', 'base64');
        const key = Buffer.from(kv.key, 'base64').toString();
        const isNew = kv.create_revision === kv.mod_revision;
        tell({ key, value, isNew, revision: Number(kv.mod_revision) });
      }
    }
  };
  read(createInterface(Readable.fromWeb(response.body))).catch((error: unknown) => {
    if (end.signal.aborted) return;
    begun.reject(error);
    // The caller relies on every change.
    throw error;
  });
  await begun.promise;
  return () => end.abort();
}

/** A line of a watch response of etcd's gateway. */
interface WatchLine {
  result: {
    created?: boolean;
    events?: { type?: 'DELETE'; kv: { key: string; value?: string; create_revision?: string; mod_revision: string } }[];
  };
}
