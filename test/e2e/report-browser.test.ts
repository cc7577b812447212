/**
 * The page of `report` in Chromium: axe finds nothing in light and dark, nothing is loaded, no script of the cluster runs,
 * and it prints. Skipped where there is no Chromium; command-report.test.ts checks the markup everywhere.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { cli } from '../cluster/harness.ts';
import { chromium, NO_BROWSER } from './browser.ts';
import { poolsWithPods } from './draining.ts';
import { reportSamples } from './report-samples.ts';
import { useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
poolsWithPods(testEnv);

interface Seen {
  violations: { id: string; nodes: string[] }[];
  passes: number;
  background: string;
  /** Elements that the browser made a script, an image or a frame. */
  active: number;
  loaded: string[];
}

/** With axe and what writes its findings into the document, which the policy of the page would forbid. */
async function withAxe(page: string): Promise<string> {
  const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  const script = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations, passes }) => {
    const pick = each => ({ id: each.id, nodes: each.nodes.map(node => node.html.slice(0, 200)) });
    const seen = { violations: violations.map(pick), passes: passes.length,
      background: getComputedStyle(document.body).backgroundColor,
      active: document.querySelectorAll('body :is(script, img, iframe, object, embed, link)').length - 1,
      loaded: performance.getEntriesByType('resource').map(({ name }) => name) };
    document.body.textContent = 'SEEN' + encodeURIComponent(JSON.stringify(seen)) + 'END';
  });`;
  const open = page.replace(/<meta http-equiv="Content-Security-Policy"[^>]*>\n/, () => `<script>${axe}</script>`);
  assert.notEqual(open, page);
  return open.replace('</body>', () => `<script>${script}</script></body>`);
}

test('the page passes axe in light and dark, and prints', { skip: NO_BROWSER, timeout: 300_000 }, async t => {
  await reportSamples(testEnv);
  const { code, stdout } = await cli(testEnv.cluster(), ['report']);
  assert.equal(code, 0);
  const folder = await mkdtemp(join(tmpdir(), 'nodepool-report-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const [profile, page, plain] = [join(folder, 'profile'), join(folder, 'axe.html'), join(folder, 'page.html')];
  await writeFile(page, await withAxe(stdout));
  await writeFile(plain, stdout);
  const look = async (scheme: 'light' | 'dark'): Promise<Seen> => {
    const flag = `--blink-settings=preferredColorScheme=${scheme === 'dark' ? 0 : 1}`;
    const dom = await chromium(
      page,
      profile,
      flag,
      '--window-size=900,900',
      '--virtual-time-budget=20000',
      '--dump-dom',
    );
    const [, seen = ''] = /SEEN(\S+?)END/.exec(dom) ?? [];
    return JSON.parse(decodeURIComponent(seen));
  };
  for (const [scheme, background] of [
    ['light', 'rgb(255, 255, 255)'],
    ['dark', 'rgb(13, 17, 23)'],
  ] as const) {
    const seen = await look(scheme);
    assert.deepEqual([seen.violations, seen.background, seen.active, seen.loaded], [[], background, 0, []], scheme);
    assert.ok(seen.passes > 20, `${seen.passes} rules had something to check`);
  }
  const pdf = join(folder, 'page.pdf');
  await chromium(plain, profile, '--no-pdf-header-footer', `--print-to-pdf=${pdf}`);
  assert.equal((await readFile(pdf)).subarray(0, 5).toString(), '%PDF-');
});
