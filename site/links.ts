/** The links between the pages of the documentation. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { anchor } from './anchor.ts';

const PAGES = '{*,docs/**/*,src/**/*,examples/**/*}.md';

/** Links of pages below the folder that lead to no file or to no heading, each as `PAGE: LINK`. Not those to other sites. */
export function brokenLinks(root: string): string[] {
  const read = (path: string) => readFileSync(join(root, path), 'utf8');
  const hasHeading = (page: string, hash: string) =>
    page.endsWith('.md') &&
    (read(page).match(/^#+ .*$/gm) ?? []).some(line => anchor(line.replace(/^#+ /, '')) === hash);
  return globSync(PAGES, { cwd: root }).flatMap(page =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(([, file = '', hash]) => {
      const target = file === '' ? page : join(page, '..', file);
      const found = globSync(target, { cwd: root })[0];
      const leads = found !== undefined && (hash === undefined || hasHeading(found, hash));
      return leads ? [] : [`${page}: ${file}${hash === undefined ? '' : `#${hash}`}`];
    }),
  );
}
