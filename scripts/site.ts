/** `npm run site` builds the site of the documentation in dist/site. A link to a missing file or heading fails it. */
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { brokenLinks } from '../site/links.ts';
import { HOME, OVERVIEW, SECTIONS } from '../site/navigation.ts';
import { ROOT } from './root.ts';

const SITE = join(ROOT, 'site');
/** Pages are compiled to code that imports Vue, which is found only from folders below site. */
const COPIES = join(SITE, 'pages');

const broken = brokenLinks(ROOT);
if (broken.length > 0) {
  process.stderr.write(`links that lead nowhere:\n${broken.join('\n')}\n`);
  process.exit(1);
}
rmSync(COPIES, { recursive: true, force: true });
cpSync(join(ROOT, 'docs'), join(COPIES, 'docs'), { recursive: true });
for (const page of SECTIONS.flatMap(({ pages }) => Object.keys(pages)))
  if (!page.includes('/')) cpSync(join(ROOT, page), join(COPIES, page === HOME ? `${OVERVIEW}.md` : page));
cpSync(join(SITE, 'start.md'), join(COPIES, 'index.md'));

run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']);
run(process.execPath, ['node_modules/vitepress/bin/vitepress.js', 'build']);

/** Ends this process when the program fails. */
function run(program: string, args: readonly string[]): void {
  const { status, error } = spawnSync(program, args, { cwd: SITE, stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
