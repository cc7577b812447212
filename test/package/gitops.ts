/** kstatus, by which Flux and Helm read the state of an object, and the health script of docs/gitops.md, as Argo CD runs it. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { ROOT } from '../../scripts/root.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import { run } from '../cluster/run.ts';

export const GITOPS_BINARIES = ['kstatus', 'argocd-health'] as const;

export interface Reading {
  status: string;
  message: string;
}

/** What kstatus says of the object. */
export async function kstatusOf(object: unknown): Promise<Reading> {
  const { kstatus } = await ensureBinaries(GITOPS_BINARIES);
  const { code, stdout, stderr } = await run(kstatus, [], { stdin: JSON.stringify(object) });
  assert.equal(code, 0, stderr);
  const [status = '', message = ''] = stdout.trimEnd().split('\t');
  return { status, message };
}

/** What the health script says of the object. */
export async function healthOf(object: unknown): Promise<Reading> {
  const { 'argocd-health': health } = await ensureBinaries(GITOPS_BINARIES);
  const page = await readFile(join(ROOT, 'docs/gitops.md'), 'utf8');
  const [, yaml = ''] = /```yaml\n(data:\n {2}resource\.customizations[\s\S]*?)```/.exec(page) ?? [];
  const { data } = load(yaml) as { data: Record<string, string> };
  const script = data['resource.customizations.health.nodes.lailin.xyz_NodePool'] ?? '';
  const { code, stdout, stderr } = await run(health, [script], { stdin: JSON.stringify(object) });
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Reading;
}
