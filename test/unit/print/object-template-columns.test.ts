import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTemplate, relaxedPath } from '../../../src/print/jsonpath/parse.ts';
import { parseColumns, parseColumnsFile } from '../../../src/print/object-template.ts';

test('accepts a path without braces and leading dot', () => {
  for (const path of ['metadata.name', '.metadata.name', '{metadata.name}', '{.metadata.name}']) {
    assert.equal(relaxedPath(path), '{.metadata.name}');
  }
  assert.equal(relaxedPath(''), '');
  for (const path of ['{a}{b}', '{}', '{.a', 'a}', '{a}b']) {
    assert.throws(
      () => relaxedPath(path),
      /^JsonPathError: unexpected path string, expected a 'name1\.name2' or/,
      path,
    );
  }
});

test('reads columns from the command line', () => {
  assert.deepEqual(parseColumns('NAME:.metadata.name,X:'), [
    { header: 'NAME', template: parseTemplate('{.metadata.name}') },
    { header: 'X', template: [] },
  ]);
  assert.deepEqual(
    parseColumns("A:.metadata.labels['x:y']").map(({ header }) => header),
    ['A'],
  );
  const wrong = /unexpected custom-columns spec: \.metadata\.name, expected <header>:<json-path-expr>/;
  assert.throws(() => parseColumns('.metadata.name'), wrong);
  assert.throws(() => parseColumns('A:.a,'), /unexpected custom-columns spec: , expected/);
  assert.throws(() => parseColumns('A:.a[?(@.b=="x)]'), /unterminated filter/);
});

test('reads columns from a file with two lines of words', () => {
  const columns = parseColumnsFile('NAME   STATUS\r\nmetadata.name  {.status.status}\nrest\n');
  assert.deepEqual(columns, [
    { header: 'NAME', template: parseTemplate('{.metadata.name}') },
    { header: 'STATUS', template: parseTemplate('{.status.status}') },
  ]);
  assert.throws(() => parseColumnsFile(''), /invalid template, missing header line/);
  for (const text of ['NAME', 'NAME\n', '\n']) {
    assert.throws(() => parseColumnsFile(text), /invalid template, missing spec line/);
  }
  assert.throws(
    () => parseColumnsFile('A B\n.a\n'),
    /number of headers \(2\) and field specifications \(1\) don't match/,
  );
});
