import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseDocuments } from '../../../src/cli/yaml.ts';
import { documentsIn } from '../../../src/kube/auth/kubeconfig-file.ts';

describe('positions of documents', () => {
  const cases: [name: string, text: string, expected: [unknown, string][]][] = [
    [
      'several documents, without empty ones',
      '# c\n\na: 1\n---\n---\n# x\nb: 2\n---\nnull\n',
      [
        [{ a: 1 }, 'p:3'],
        [{ b: 2 }, 'p:7'],
      ],
    ],
    ['JSON with tabs', '{\n\t"a": [\n\t\t1]}', [[{ a: [1] }, 'p:1']]],
    [
      'consecutive JSON objects, as from jq',
      '{"a":"}{"}\n{"b":\n{"c":2}}{"d":3}\n',
      [
        [{ a: '}{' }, 'p:1'],
        [{ b: { c: 2 } }, 'p:2'],
        [{ d: 3 }, 'p:4'],
      ],
    ],
    [
      'consecutive indented JSON objects',
      '  {"a":1}\n\n  {"b":2}\n',
      [
        [{ a: 1 }, 'p:1'],
        [{ b: 2 }, 'p:3'],
      ],
    ],
    [
      'Windows line ends and a byte order mark',
      '\uFEFFa: 1\r\n---\r\nb: 2\r\n',
      [
        [{ a: 1 }, 'p:1'],
        [{ b: 2 }, 'p:3'],
      ],
    ],
    [
      'byte order marks of concatenated files, with and without a leading separator',
      '\uFEFFa: 1\n---\n\uFEFFb: 2\n\uFEFF---\nc: 3\n',
      [
        [{ a: 1 }, 'p:1'],
        [{ b: 2 }, 'p:3'],
        [{ c: 3 }, 'p:5'],
      ],
    ],
    [
      'the items of a NodePoolList, with and without kind',
      'apiVersion: v\nkind: NodePoolList\nitems:\n- a: 1\n- {kind: Other}\n',
      [
        [{ apiVersion: 'v', kind: 'NodePool', a: 1 }, 'p:1 items[0]'],
        [{ kind: 'Other' }, 'p:1 items[1]'],
      ],
    ],
    [
      'the items of a List',
      '---\nkind: List\nitems:\n- a: 1\n- b: 2\n',
      [
        [{ a: 1 }, 'p:2 items[0]'],
        [{ b: 2 }, 'p:2 items[1]'],
      ],
    ],
    [
      'merge keys, and dates as text',
      'x: &x {a: 1}\ny: {<<: *x, d: 2024-01-01}',
      [[{ x: { a: 1 }, y: { a: 1, d: '2024-01-01' } }, 'p:1']],
    ],
    [
      "kubectl's booleans; quoted ones and keys stay text",
      'a: [yes, On, n, "yes", yEs]\non: {y: off, "no": [{n: 1}]}',
      [[{ a: [true, true, false, 'yes', 'yEs'], on: { y: false, no: [{ n: 1 }] } }, 'p:1']],
    ],
    ['a scalar', 'just text', [['just text', 'p:1']]],
    ['nothing', '# only a comment\n', []],
  ];
  for (const [name, text, expected] of cases) {
    test(name, () => {
      const found = parseDocuments(text, 'p').map(({ value, source }) => [value, source]);
      assert.deepEqual(found, expected);
    });
  }
});

test('locates a field, and a missing field where it would be', () => {
  const text = `x: 1
---
spec:
  labels:
    a.b/c: 1
    "q\\"": 2
  taints:
  - {key: a, efect: x}
  -
    key: b
  empty:
  ? y
  : z
kind: List
items:
- a: 1
- b: {c: 3}
`;
  const [, first, second] = parseDocuments(text, 'p');
  for (const path of ['b', 'b.c', 'c']) assert.equal(second?.placeOf(path), 'p:17 items[1]', path);
  assert.equal(first?.placeOf('a'), 'p:16 items[0]');
  const [pool] = parseDocuments(text.replace('kind: List', 'kind: NodePool'), 'p').slice(1);
  for (const [path, line] of [
    ['spec', 3],
    ['spec.labels[a.b/c]', 5],
    ['spec.labels[q"]', 6],
    ['spec.taints', 7],
    ['spec.taints[0].efect', 8],
    ['spec.taints[0].effect', 8],
    ['spec.taints[1].key', 10],
    ['spec.taints[1].effect', 10],
    ['spec.empty', 11],
    ['spec.empty.deeper', 11],
    ['spec.y', 12],
    ['specs', 3],
    ['metadata', 3],
    ['kind', 14],
  ] as const) {
    assert.equal(pool?.placeOf(path), `p:${line}`, path);
  }
});

test('locates a field under an alias at the alias', () => {
  const [pool] = parseDocuments('a: &x {b: 1}\nc:\n  *x\nd:\n- *x\n', 'p');
  assert.deepEqual(
    ['a.b', 'c.b', 'd[0].b'].map(path => pool?.placeOf(path)),
    ['p:1', 'p:2', 'p:5'],
  );
});

describe('limits on expansion', () => {
  const letters = [...'abcdefgh'];
  const bomb = letters.map((name, i) => `${name}: &${name} [${Array(9).fill(i === 0 ? 'x' : `*${letters[i - 1]}`)}]`);
  const chain = Array.from({ length: 250 }, (_, i) => `k${i}: &a${i} [${i === 0 ? 'x' : `*a${i - 1}`}]`);
  const cases: [name: string, text: string, message: RegExp][] = [
    ['its length', `a: ${'x'.repeat(4_194_304)}`, /^p is too large: 4194307 characters; the limit is 4194304$/],
    ['aliases to aliases', bomb.join('\n'), /^p is too large: more than 4194304 characters with expanded aliases/],
    [
      'an alias in what it stands for',
      'a: &a {b: [*a]}',
      /^p is too large: more than 200 levels with expanded aliases$/,
    ],
    ['a chain of aliases', chain.join('\n'), /^p is too large: more than 200 levels with expanded aliases$/],
    ['JSON objects', '{}'.repeat(100_001), /^p is too large: the file has more than 100000 objects$/],
  ];
  for (const [name, text, message] of cases) {
    test(name, () => {
      const next = 'split the file';
      assert.throws(() => parseDocuments(text, 'p', 'correct it'), {
        name: 'NodepoolError',
        kind: 'input',
        message,
        next,
      });
      if (name !== 'JSON objects') assert.throws(() => documentsIn(text), /expanded aliases|characters/);
    });
  }
});

describe('reports malformed text in one line with its position', () => {
  const cases: [text: string, message: RegExp][] = [
    ['a: [1,\nb: 2', /^pools\.yaml:2:1: not valid YAML: [^\n]+$/],
    ['a: 1\na: 2', /^pools\.yaml:2:1: not valid YAML: duplicated mapping key$/],
    ['a:\n\t- b', /^pools\.yaml:2:1: not valid YAML: tab characters [^\n]+$/],
    ['ok: 1\n---\na: b: c', /^pools\.yaml:3:5: not valid YAML: [^\n]+$/],
    ['a: *b', /^pools\.yaml:1:5: not valid YAML: unidentified alias "b"$/],
  ];
  for (const [text, message] of cases) {
    test(JSON.stringify(text), () => {
      assert.throws(() => parseDocuments(text, 'pools.yaml'), { name: 'NodepoolError', kind: 'input', message });
    });
  }
});
