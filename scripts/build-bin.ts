/** `npm run build:bin` builds the executable for this platform; `-- --all` builds it for all supported platforms. */
import { execFileSync } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { buildExecutable } from './package/executable.ts';
import { hostTarget, TARGETS } from './package/targets.ts';
import { ROOT } from './root.ts';

const { values } = parseArgs({ options: { all: { type: 'boolean', default: false } } });
const host = hostTarget();
for (const target of values.all ? TARGETS : [host]) {
  const path = await buildExecutable(target);
  const size = `${((await stat(path)).size / 1024 ** 2).toFixed(0)} MiB`;
  const answer = target === host ? `, ${execFileSync(path, ['version', '--client']).toString().trim()}` : '';
  console.log(`${relative(ROOT, path)} ${size}${answer}`);
}
