/** `report`: the page and its data on a real server. report-browser.test.ts looks at the page in a browser. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { problemsOf } from '../unit/commands/report/html-problems.ts';
import { commandsOf } from './commands.ts';
import { poolsWithPods } from './draining.ts';
import { MARKUP, reportSamples } from './report-samples.ts';
import { useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
// Deletes pods before each test.
poolsWithPods(testEnv);
const { refused, unchanged } = commandsOf(testEnv.cluster);

async function page(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await unchanged(['report', ...args]);
  assert.deepEqual([code, stderr], [0, '']);
  return stdout;
}

test('the page shows pools in every state, valid, complete, and without foreign markup', async () => {
  await reportSamples(testEnv);
  const text = await page();
  if (process.env.REPORT_PAGE !== undefined) await writeFile(process.env.REPORT_PAGE, text);
  assert.deepEqual(await problemsOf(text), []);
  assert.match(text, /^<!DOCTYPE html>\n<html lang="en">/);
  assert.match(text, /<title>Node pools of [^<]+<\/title>/);
  assert.match(text, /<dt>Kubernetes<\/dt><dd>v1\.\d+\.\d+<\/dd>/);
  // Our own tags alone.
  assert.doesNotMatch(text, /<script|<img|<\/td><\/table>\s*&|javascript:|https?:|onerror="/i);
  assert.ok(
    text.includes('&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=&quot;alert(&#39;2&#39;)&quot;&gt;'),
  );
  assert.ok(text.includes('\\u202e') && !text.includes('\u202e') && MARKUP.includes('\u202e'));
  for (const said of [
    /<th scope="row" class="name">late<\/th><td class=""><span class="bad"><span aria-hidden="true">✖ <\/span>Conflict<\/span>/,
    /kernel upgrade, ticket &lt;OPS-1142&gt;/,
    /<li>~ label tier: brass -&gt; gold \(drift\)<\/li>.*<li>kubectl-label, <time/,
    /aria-hidden="true">✖ <\/span>overdue<\/span>/,
    /<th scope="row" class="name">gpu-1<\/th><td class="name">gpu<\/td><td class="name">late<\/td>/,
    /4 of 4 \(100%\)|4 of 12 \(33%\)/,
    /<svg class="chart" [^>]*role="img" aria-labelledby="trend-title trend-text">\n<title/,
  ])
    assert.match(text, said);
  // Overdue ones first, those of which nothing is known last.
  const cordoned = text.slice(text.indexOf('id="maintenance"'), text.indexOf('id="due"'));
  const order = [...cordoned.matchAll(/<th scope="row" class="name">([^<]+)/g)].map(([, name]) => name);
  assert.deepEqual(order, ['gpu-2', 'web-1', 'web-3']);
});

test('prints data as JSON, and only the named pools', async () => {
  await reportSamples(testEnv);
  const all = JSON.parse(await page('-o', 'json'));
  assert.deepEqual([all.kind, all.pools.total, all.due.total, all.conflicts.total], ['PoolReport', 4, 2, 3]);
  assert.deepEqual(
    all.due.items.map(({ name, changes }: { name: string; changes: { setBy?: { manager: string } }[] }) => [
      name,
      changes[0]?.setBy?.manager,
    ]),
    [
      ['gpu-1', 'kubectl-label'],
      ['web-2', 'test-cluster'],
    ],
  );
  assert.deepEqual(
    all.maintenance.items.map(({ node, isOverdue }: { node: string; isOverdue: boolean }) => [node, isOverdue]),
    [
      ['gpu-2', true],
      ['web-1', false],
      ['web-3', false],
    ],
  );
  assert.equal(all.trend.length, 12);
  const web = JSON.parse(await page('web', '-o', 'json'));
  assert.deepEqual([web.pools.total, web.due.total, web.conflicts.total, web.maintenance.total], [1, 1, 0, 2]);
  assert.ok(web.events.items.every(({ pool }: { pool: string }) => pool === 'web'));
  assert.match(await page('web', '-o', 'yaml'), /^apiVersion: cli\.nodes\.lailin\.xyz\/v1alpha1\ncapacity:\n/);
  await refused(['report', 'wbe'], 1, /^error: nodepool "wbe" not found; did you mean "web"\?/);
  await refused(['report', '-o', 'pdf'], 2, /^error: unknown output format "pdf"; next: use one of html, json, yaml/);
});

test('prints a page without pools', async () => {
  const text = await page();
  assert.deepEqual(await problemsOf(text), []);
  for (const said of ['There are no pools.', 'No node is cordoned.', 'No Events in the last hour.'])
    assert.ok(text.includes(said), said);
});
