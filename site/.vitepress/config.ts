import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { anchor } from '../anchor.ts';
import { DECISIONS, HOME, OVERVIEW, SECTIONS } from '../navigation.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const REPOSITORY = 'https://github.com/lailin-xyz/kubectl-nodepool';

const decisions = readdirSync(join(ROOT, DECISIONS))
  .map(file => posix.join(DECISIONS, file))
  .sort();
const pages = new Set([...SECTIONS.flatMap(section => Object.keys(section.pages)), ...decisions]);

/** Links to pages stay as they are, and VitePress checks them. What is no page is in the repository, or an error. */
function resolve(href: string, page: string): string {
  const [path = '', hash = ''] = href.split(/(?=#)/);
  if (path === '' || path.startsWith('#') || /^[a-z]+:/.test(path)) return href;
  const target = posix.join(posix.dirname(page), path).replace(/\/$/, '');
  if (target === HOME) return `/${OVERVIEW}${hash}`;
  if (pages.has(target)) return href;
  const kind = statSync(join(ROOT, target)).isDirectory() ? 'tree' : 'blob';
  return `${REPOSITORY}/${kind}/main/${target}${hash}`;
}

const link = (page: string) => `/${page === HOME ? OVERVIEW : page.replace(/\.md$/, '')}`;

/** The first heading. */
function title(page: string): string {
  const heading = /^# (.*)$/m.exec(readFileSync(join(ROOT, page), 'utf8'))?.[1] ?? page;
  return heading.replaceAll('`', '');
}

export default defineConfig({
  title: 'kubectl-nodepool',
  description: 'Pools of Kubernetes nodes: labels, taints, RuntimeClass and capacity',
  base: '/kubectl-nodepool/',
  // Written by scripts/site.ts.
  srcDir: 'pages',
  outDir: '../dist/site',
  cacheDir: 'node_modules/.vitepress',
  cleanUrls: true,
  // package.json has a newer esbuild than Vite expects, which cannot compile for the older browsers of its default.
  vite: { build: { target: 'es2022' } },
  markdown: {
    anchor: { slugify: anchor },
    codeTransformers: [
      {
        line(node, number) {
          if (this.source.split('\n')[number - 1]?.startsWith('$ ')) this.addClassToHast(node, 'command');
        },
      },
    ],
    config: md => {
      md.core.ruler.push('site', ({ tokens, env }) => {
        // Output is no code.
        for (const token of tokens) if (token.info === 'console') token.info = '';
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const href = token.type === 'link_open' ? token.attrGet('href') : null;
          if (href !== null) token.attrSet('href', resolve(href, env.relativePath));
        }
      });
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Guide', link: '/docs/guide' },
      { text: 'Reference', link: '/docs/reference' },
      { text: '中文', link: '/docs/zh/README' },
    ],
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
    sidebar: [
      ...SECTIONS.map(section => ({
        text: section.title,
        items: Object.entries(section.pages).map(([page, text]) => ({ text, link: link(page) })),
      })),
      { text: 'Decisions', collapsed: true, items: decisions.map(page => ({ text: title(page), link: link(page) })) },
    ],
  },
});
