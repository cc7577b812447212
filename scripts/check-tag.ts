/**
 * `node scripts/check-tag.ts TAG` prints the tag's section of CHANGELOG.md. Fails for another version or without a
 * date.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pjson from '../package.json' with { type: 'json' };

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

if (import.meta.main) process.stdout.write(releaseNotes(process.argv[2] ?? '', readFileSync(CHANGELOG, 'utf8')));
