/** kstatus, the library by which Argo CD, Flux and Helm read the state of an object. */
import assert from 'node:assert/strict';
import { ensureBinaries } from '../cluster/binaries.ts';
import { run } from '../cluster/run.ts';

export const KSTATUS_BINARIES = ['kstatus'] as const;

/** What kstatus says of the object, and why. */
export async function kstatusOf(object: unknown): Promise<{ status: string; message: string }> {
  const { kstatus } = await ensureBinaries(KSTATUS_BINARIES);
  const { code, stdout, stderr } = await run(kstatus, [], { stdin: JSON.stringify(object) });
  assert.equal(code, 0, stderr);
  const [status = '', message = ''] = stdout.trimEnd().split('\t');
  return { status, message };
}
