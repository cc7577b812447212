/**
 * `node scripts/check-tag.ts TAG` prints the tag's section of CHANGELOG.md. Fails for another version, without a date,
 * or when what is checked out is not on main.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pjson from '../package.json' with { type: 'json' };
import { ROOT } from './root.ts';

const CHANGELOG = fileURLToPath(new URL('../CHANGELOG.md', import.meta.url));

/** The section of CHANGELOG.md for this tag. Throws when the release is not ready. */
export function releaseNotes(tag: string, changelog: string): string {
  if (tag !== `v${pjson.version}`) throw new Error(`the tag ${tag} is not v${pjson.version}, package.json's version`);
  if (pjson.version.includes('-'))
    throw new Error(`${pjson.version} is a pre-release, which the workflow does not publish`);
  const [, ...sections] = changelog.split(/^## /m);
  const section = sections.find(text => text.startsWith(`[${pjson.version}] `));
  if (section === undefined) throw new Error(`CHANGELOG.md has no section [${pjson.version}]`);
  const [heading = '', ...lines] = section.split('\n');
  if (!/ - \d{4}-\d{2}-\d{2}$/.test(heading)) throw new Error(`CHANGELOG.md: "## ${heading}" has no date`);
  return `${lines.join('\n').trim()}\n`;
}

/** Throws when HEAD is not part of main, where every change has been reviewed. In a shallow clone it throws too. */
export function checkOnMain(folder: string): void {
  const args = ['merge-base', '--is-ancestor', 'HEAD', 'origin/main'];
  const { status, stderr } = spawnSync('git', args, { cwd: folder, encoding: 'utf8' });
  if (status === 1) throw new Error('the tagged commit is not on main: merge it, then tag what main has');
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
}

if (import.meta.main) {
  checkOnMain(ROOT);
  process.stdout.write(releaseNotes(process.argv[2] ?? '', readFileSync(CHANGELOG, 'utf8')));
}
