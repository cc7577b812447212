/**
 * The cluster changes while the question is on the screen: what is written is what the user agreed to. Each command asks
 * on a real terminal, about pods that are bound to nodes without a scheduler.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { raw } from '../cluster/raw.ts';
import { scriptedEditor, stateOf } from './commands.ts';
import { openTerminal } from './terminal.ts';
import { taintsOf, useTestEnv } from './test-env.ts';

const TEST_MS = 120_000;
const PODS = '/api/v1/namespaces/default/pods';
const AGAIN = /The cluster has changed meanwhile:/;
export const STRICT = [{ key: 'strict', effect: 'NoExecute' as const }];

export interface Row {
  title: string;
  args: string[];
  prepare: () => Promise<unknown>;
  /** Runs while the question is on the screen. */
  meanwhile: () => Promise<unknown>;
  /** Asks again; after a no nothing may be written. */
  isAskedAgain?: boolean;
  /** Without a second question: how it ends. */
  ends?: { code: number; shows?: RegExp; check: () => Promise<unknown> };
  editor?: string;
}

/** The test environment, helpers to change it, and a function that makes rows tests. */
export function useConsent() {
  const testEnv = useTestEnv();
  const { cluster } = testEnv;
  const api = () => raw(cluster());

  /** @param replicaSet its controller, if any */
  async function pod(name: string, node: string, replicaSet?: string): Promise<void> {
    const containers = [{ name: 'main', image: 'registry.example.com/main:1' }];
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: replicaSet, uid: 'u', controller: true };
    const metadata = { name, ...(replicaSet === undefined ? {} : { ownerReferences: [owner] }) };
    await api().expect('POST', PODS, { metadata, spec: { nodeName: node, containers } });
  }

  return {
    testEnv,
    pod,
    /** Deletes the pod and creates a replacement, as its ReplicaSet would. */
    async replace(name: string, by: string, node: string, replicaSet?: string): Promise<void> {
      await api().expect('DELETE', `${PODS}/${name}?gracePeriodSeconds=0`);
      await pod(by, node, replicaSet);
    },
    /** A node with a pod on it. */
    async busy(name: string, labels: Record<string, string> = {}): Promise<void> {
      await testEnv.nodes({ name, labels });
      await pod(`on-${name}`, name);
    },
    taints: async (...nodes: string[]) => (await Promise.all(nodes.map(testEnv.node))).map(taintsOf),
    relabel: (node: string, labels: Record<string, string | null>) => testEnv.patchNode(node, { metadata: { labels } }),
    remove: (pool: string) => api().expect('DELETE', `/apis/nodes.lailin.xyz/v1/nodepools/${pool}`),
    testRows(rows: Row[]): void {
      for (const { title, args, prepare, meanwhile, isAskedAgain, ends, editor } of rows) {
        test(title, { timeout: TEST_MS }, async t => {
          t.after(async () => {
            const { items } = (await api().expect('GET', PODS)) as { items: { metadata: { name: string } }[] };
            for (const { metadata } of items)
              await api().expect('DELETE', `${PODS}/${metadata.name}?gracePeriodSeconds=0`);
          });
          await prepare();
          const env =
            editor === undefined
              ? {}
              : { KUBE_EDITOR: await scriptedEditor(cluster(), `consent-${rows.length}`, editor) };
          const terminal = openTerminal(t, cluster(), args, { columns: 160, rows: 60, env: { NO_COLOR: '1', ...env } });
          await terminal.shows(/\[y\/N\]/);
          await meanwhile();
          const before = await stateOf(cluster());
          terminal.type('y{enter}');
          if (isAskedAgain) {
            await terminal.shows(new RegExp(`${AGAIN.source}[^]*\\[y/N\\]`));
            terminal.type('n{enter}');
            assert.equal((await terminal.exit).exitCode, 1, terminal.screen());
            assert.deepEqual(await stateOf(cluster()), before, 'a no writes nothing');
            return;
          }
          assert.equal((await terminal.exit).exitCode, ends?.code, terminal.screen());
          assert.doesNotMatch(terminal.screen(), AGAIN);
          if (ends?.shows !== undefined) assert.match(terminal.screen(), ends.shows);
          await ends?.check();
        });
      }
    },
  };
}
