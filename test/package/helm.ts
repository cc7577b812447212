/** Helm, on a control plane, with a home of its own. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { ROOT } from '../../scripts/root.ts';
import type { ManifestObject } from '../../src/kube/resources/manifests.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import { type RunResult, run } from '../cluster/run.ts';

export const HELM_BINARIES = ['helm'] as const;
export const CHART = join(ROOT, 'charts', 'kubectl-nodepool');

export interface Helm {
  run(...args: string[]): Promise<RunResult>;
  /** Fails unless helm exits with 0; returns the output. */
  ok(...args: string[]): Promise<string>;
  /** The objects that `helm template` prints for the chart. */
  template(...args: string[]): Promise<ManifestObject[]>;
}

/** @param home for its configuration and cache */
export async function useHelm(home: string, kubeconfig?: string): Promise<Helm> {
  const { helm } = await ensureBinaries(HELM_BINARIES);
  const env = { PATH: process.env.PATH, HOME: home, ...(kubeconfig === undefined ? {} : { KUBECONFIG: kubeconfig }) };
  const start = (...args: string[]) => run(helm, args, { env, timeoutMs: 150_000 });
  const ok = async (...args: string[]) => {
    const { code, stdout, stderr } = await start(...args);
    assert.equal(code, 0, `helm ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  return {
    run: start,
    ok,
    async template(...args) {
      const text = await ok('template', 'nodepool', CHART, '--namespace', 'nodepool-system', ...args);
      return (loadAll(text) as (ManifestObject | null)[]).filter(object => object !== null);
    },
  };
}

/** What Helm asks charts to say of each object. */
const HELM_LABELS = /^(?:helm\.sh\/|app\.kubernetes\.io\/(?:instance|version|managed-by)$)/;

/** `KIND NAMESPACE/NAME` */
export const keyOf = ({ kind, metadata }: ManifestObject) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
export const byKey = (objects: readonly ManifestObject[]) => new Map(objects.map(object => [keyOf(object), object]));

/** The object without Helm's labels and annotation, and without the name label where the manifest has no labels. */
export function withoutHelm(object: ManifestObject, expected: ManifestObject): ManifestObject {
  const { labels = {}, annotations = {}, ...metadata } = object.metadata as Record<string, object>;
  const keep = 'labels' in expected.metadata;
  const kept = Object.entries(labels).filter(([key]) => keep && !HELM_LABELS.test(key));
  const notes = Object.entries(annotations).filter(([key]) => key !== 'helm.sh/resource-policy');
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(kept.length > 0 && { labels: Object.fromEntries(kept) }),
      ...(notes.length > 0 && { annotations: Object.fromEntries(notes) }),
    } as ManifestObject['metadata'],
  };
}
