import assert from 'node:assert/strict';
import { test } from 'node:test';
import { html } from '../../../../src/commands/report/html.ts';
import { problemsOf } from './html-problems.ts';

test('escapes every value except the output of templates', () => {
  const evil = `<b title="x" class='y'>&amp;\`</b>`;
  const escaped = '&lt;b title=&quot;x&quot; class=&#39;y&#39;&gt;&amp;amp;&#96;&lt;/b&gt;';
  assert.equal(html`<p title="${evil}">${evil}</p>`.text, `<p title="${escaped}">${escaped}</p>`);
  assert.equal(html`${[evil, html`<i>${'<'}</i>`, [1, undefined]]}`.text, `${escaped}<i>&lt;</i>1`);
  assert.equal(html`${'\u202e\u0000\n\u200b'}`.text, '\\u202e\\u0000\\n\\u200b');
  // Looks like what a template made.
  assert.equal(html`${JSON.stringify({ text: '<i>' })}`.text, '{&quot;text&quot;:&quot;&lt;i&gt;&quot;}');
});

test('the page check finds problems', async () => {
  const page = (body: string) =>
    `<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>x</title>\n</head>\n<body><main>${body}</main></body>\n</html>`;
  assert.deepEqual(await problemsOf(page('<p>x</p>')), []);
  for (const wrong of ['<p>x</td>', '<img src="x">', '<p id="a"></p><p id="a"></p>'])
    assert.notDeepEqual(await problemsOf(page(wrong)), [], wrong);
});
