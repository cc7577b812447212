/** Karpenter's CRD nodepools.karpenter.sh, whose names are those of ours. Go downloads it as a module (1 MB). */
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { run } from './run.ts';

const MODULE = 'sigs.k8s.io/karpenter@v1.8.0';

/** The CRD. Throws when Go is not in the PATH or cannot download the module. */
export async function karpenterCrd(): Promise<object> {
  // Outside of any module, whose go.mod would be read first.
  const { code, stdout, stderr } = await run('go', ['mod', 'download', '-json', MODULE], { cwd: tmpdir() });
  if (code !== 0) throw new Error(`go mod download ${MODULE} failed: ${stderr}${stdout}`);
  const { Dir } = JSON.parse(stdout) as { Dir: string };
  return load(await readFile(join(Dir, 'pkg/apis/crds/karpenter.sh_nodepools.yaml'), 'utf8')) as object;
}
