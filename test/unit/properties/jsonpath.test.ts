/** Any template on any data. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { evaluate, goText } from '../../../src/print/jsonpath/evaluate.ts';
import { parseTemplate, relaxedTemplate } from '../../../src/print/jsonpath/parse.ts';
import { JsonPathError } from '../../../src/print/jsonpath/template.ts';
import { parseColumns, parseColumnsFile } from '../../../src/print/object-template.ts';
import { property, throwsOnly, wordsOf } from './property.ts';

const WORDS = [
  '{',
  '}',
  '.',
  '..',
  '[',
  ']',
  '*',
  'a',
  'b',
  '0',
  '-1',
  ':',
  ',',
  "'",
  '"',
  '\\',
  '@',
  '$',
  '[?(',
  ')]',
  '==',
  '<',
  '1.5',
  'range ',
  'end',
  'true',
  ' ',
  '\\n',
  '{range .a[*]}',
  '{end}',
  '{.a}',
  "['a','b']",
  '{..b}',
  '(@.a)',
];
const template = wordsOf(WORDS, 30);
const data = fc.object({
  key: fc.constantFrom('a', 'b', 'c.d'),
  maxDepth: 4,
  maxKeys: 3,
  values: [fc.integer(), fc.double(), fc.string(), fc.boolean(), fc.constant(null)],
});

property(
  'parses and runs any template, or throws a JsonPathError',
  fc.property(template, data, (text, object) => {
    throwsOnly([JsonPathError], () => evaluate(parseTemplate(text), object).flat().map(goText));
  }),
  1_000,
);

property(
  'parses any columns, or throws a JsonPathError',
  fc.property(template, data, (text, object) => {
    for (const read of [parseColumns, parseColumnsFile]) {
      throwsOnly([JsonPathError], () => read(text).map(({ template: path }) => evaluate(path, object)));
    }
    throwsOnly([JsonPathError], () => evaluate(relaxedTemplate(text), object));
  }),
);

const key = fc.string({ unit: fc.constantFrom(...'abZ09_-/.ä'), minLength: 1, maxLength: 20 });

property(
  'a path with escaped dots finds the member with that name',
  fc.property(key, fc.jsonValue(), (name, value) => {
    const path = `{.${name.replaceAll('.', '\\.')}}`;
    assert.deepEqual(evaluate(parseTemplate(path), { [name]: value, other: 1 }), [[value]]);
  }),
);

property(
  'an index finds the item from the front and from the back',
  fc.property(fc.array(fc.jsonValue(), { minLength: 1 }), fc.nat(), (items, nat) => {
    const at = nat % items.length;
    assert.deepEqual(evaluate(parseTemplate(`{[${at}]}{[${at - items.length}]}{[*]}`), items), [
      [items[at]],
      [items[at]],
      items,
    ]);
  }),
);
