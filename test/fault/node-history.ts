/** Every version of every node, as the server's watch reports it, also those that existed only for a moment. */
import { get } from 'node:https';
import { createInterface } from 'node:readline';
import type { Taint } from '../../src/nodepool/types.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { raw } from '../cluster/raw.ts';
import type { Test } from './fault-env.ts';
import { taintId } from './model.ts';

interface Version {
  metadata: { uid: string; name: string; resourceVersion: string };
  spec: { taints?: Taint[] };
}

export interface NodeHistory {
  /** How often the node got the taint, by `name key:Effect`. */
  readonly given: ReadonlyMap<string, number>;
  /** Resolves when the node has been seen in this version or a later one. */
  sees(resourceVersion: string): Promise<void>;
}

/** Follows all nodes from now on; the watch ends with the test. Rejects with an error of the watch in sees(). */
export async function nodeHistory(t: Test, { server, ca, admin }: ControlPlane): Promise<NodeHistory> {
  const list = await raw({ server, ca, admin }).expect('GET', '/api/v1/nodes?limit=1');
  const { resourceVersion } = (list as { metadata: { resourceVersion: string } }).metadata;
  const given = new Map<string, number>();
  const taints = new Map<string, Set<string>>();
  const waiting: { version: bigint; done: () => void; failed: (error: Error) => void }[] = [];
  let last = BigInt(resourceVersion);
  let error: Error | undefined;
  const fail = (reason: Error) => {
    error ??= reason;
    for (const { failed } of waiting.splice(0)) failed(error);
  };
  const see = (type: string, { metadata, spec }: Version) => {
    const ids = new Set((spec.taints ?? []).map(taintId));
    const before = taints.get(metadata.uid) ?? new Set();
    for (const id of ids.difference(before)) {
      const key = `${metadata.name} ${id}`;
      given.set(key, (given.get(key) ?? 0) + 1);
    }
    taints.set(metadata.uid, type === 'DELETED' ? new Set() : ids);
    last = BigInt(metadata.resourceVersion);
    for (const each of waiting.splice(0)) {
      if (each.version <= last) each.done();
      else waiting.push(each);
    }
  };
  const url = new URL(`/api/v1/nodes?watch=true&timeoutSeconds=3600&resourceVersion=${resourceVersion}`, server);
  const request = get(url, { ca, ...admin }, async response => {
    try {
      for await (const line of createInterface({ input: response })) {
        const { type, object } = JSON.parse(line);
        if (type === 'ERROR') throw new Error(`the watch of the test: ${line}`);
        see(type, object);
      }
      throw new Error('the watch of the test has ended');
    } catch (reason) {
      fail(reason as Error);
    }
  });
  request.on('error', fail);
  t.after(() => request.destroy());
  return {
    given,
    sees: version =>
      new Promise((done, failed) => {
        if (error !== undefined) failed(error);
        else if (last >= BigInt(version)) done();
        else waiting.push({ version: BigInt(version), done, failed });
      }),
  };
}
