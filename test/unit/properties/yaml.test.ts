/** Written YAML reads back as the same, and any text is parsed or refused with a NodepoolError. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseDocuments } from '../../../src/cli/yaml.ts';
import { documentsIn, parseKubeconfig } from '../../../src/kube/auth/kubeconfig-file.ts';
import { proxyFromEnvironment } from '../../../src/kube/proxy/proxy.ts';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import { decodePool } from '../../../src/nodepool/spec/coerce.ts';
import { printCompactJson, printJson } from '../../../src/print/printers.ts';
import { sanitizeText } from '../../../src/print/sanitize.ts';
import { toYaml } from '../../../src/print/yaml.ts';
import { hostileText, property, throwsOnly, wordsOf } from './property.ts';

const text = hostileText.map(one => one.toWellFormed());
const value: fc.Arbitrary<Record<string, unknown>> = fc.object({
  // Parsers take no longer key, and no JavaScript object has an own member of the one name by assignment; Go too leaves the merge key as it is.
  key: text.filter(key => key.length < 200 && key !== '__proto__' && key !== '<<'),
  values: [
    text,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.constantFrom('yes', '1e3', '0x1F', '12:30', '2020-01-01', '', '~', '.5', '0b1', '1_000', '<<', '='),
  ],
  maxDepth: 3,
  withNullPrototype: false,
});

const plain = (one: unknown) => JSON.parse(JSON.stringify(one)) as unknown;

property(
  'reads written YAML as the same value',
  fc.property(value, object => {
    // With the last newline, as it is printed: a text can end with newlines.
    assert.deepEqual(documentsIn(`${toYaml(object)}\n`), [plain(object)]);
  }),
  150,
);

/** Controls, lone surrogates, line and paragraph separators, bidirectional controls, byte order marks. */
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u;

property(
  'written YAML has no control characters, and sanitizing keeps it',
  fc.property(value, object => {
    const yaml = `${toYaml(object)}\n`;
    assert.doesNotMatch(yaml.replaceAll('\n', ''), UNSAFE);
    assert.deepEqual(documentsIn(sanitizeText(yaml)), [plain(object)]);
    for (const json of [printJson(object), printCompactJson(object)]) {
      assert.doesNotMatch(json.replaceAll('\n', ''), UNSAFE);
      assert.deepEqual(JSON.parse(sanitizeText(json)), plain(object));
    }
  }),
  100,
);

property(
  'reads concatenated JSON objects one by one',
  fc.property(
    fc.array(value, { minLength: 1, maxLength: 4 }),
    fc.constantFrom('', ' ', '\n', '\n\n', '\n---\n'),
    (objects, between) => {
      const source = objects.map(object => JSON.stringify(object)).join(between);
      const read = parseDocuments(source, 'p');
      assert.deepEqual(
        read.map(document => document.value),
        objects.map(plain),
      );
      for (const document of read) assert.match(document.placeOf('a.b[0]'), /^p:\d+$/);
    },
  ),
);

const WORDS = [
  '{',
  '}',
  '[',
  ']',
  ': ',
  ':',
  '- ',
  '? ',
  '\n',
  '\n  ',
  '"',
  "'",
  '&a ',
  '*a',
  '<<: *a',
  '|',
  '>',
  '#',
  '---\n',
  '...\n',
  '%TAG',
  '!!',
  'a',
  'b',
  '1',
  ',',
  '\\',
  '\t',
  'kind: List\nitems:',
  'metadata:\n  name: x\n',
  'spec:\n',
  'clusters:\n- name: a\n  cluster: ',
  'users:\n- name: a\n  user: ',
];
const source = wordsOf(WORDS, 30);

property(
  'parses any text to documents and pools, or throws a NodepoolError',
  fc.property(source, given => {
    throwsOnly([NodepoolError], () => {
      for (const document of parseDocuments(given, 'p')) {
        assert.match(document.placeOf('spec.labels[a]'), /^p:\d+( items\[\d+\])?$/);
        throwsOnly([NodepoolError], () => decodePool(document.value, document.source, document.placeOf));
      }
    });
  }),
  1_000,
);

property(
  'parses any text as a kubeconfig, or throws a NodepoolError',
  fc.property(fc.oneof(source, value.map(toYaml)), given => {
    throwsOnly([NodepoolError], () => parseKubeconfig(given, '/tmp/config'));
  }),
  150,
);

property(
  'parses any NO_PROXY and proxy, or throws a NodepoolError',
  fc.property(
    wordsOf(['a.b', '.', '*', ',', ':', '1', '/', '[::1]', '10.0.0.0/8', '443', 'http://', 'socks5://', '@', '%', ' ']),
    given => {
      for (const NO_PROXY of [given, '']) {
        throwsOnly([NodepoolError], () =>
          proxyFromEnvironment(new URL('https://10.1.2.3:443'), {
            HTTPS_PROXY: NO_PROXY === '' ? given : 'http://p',
            NO_PROXY,
          }),
        );
      }
    },
  ),
);
