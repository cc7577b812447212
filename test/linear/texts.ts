/** All parsers and writers of untrusted text, with the most expensive texts of a length for each. */
import { parseDuration } from '../../src/cli/duration.ts';
import { parseDocuments } from '../../src/cli/yaml.ts';
import { parseUntil } from '../../src/commands/shared/cordon/maintenance-flags.ts';
import { isNamedIn } from '../../src/commands/shared/reconcile/earlier-repairs.ts';
import { parseLabelEdits, parseTaintEdits } from '../../src/commands/shared/spec/flag-syntax.ts';
import { documentsIn, parseKubeconfig } from '../../src/kube/auth/kubeconfig-file.ts';
import { proxyFromEnvironment, withoutLogin } from '../../src/kube/proxy/proxy.ts';
import { parseMaintenance } from '../../src/nodepool/drain/maintenance.ts';
import { parseLabelSelector } from '../../src/nodepool/membership/label-selector.ts';
import { parseRecord } from '../../src/nodepool/plan/record.ts';
import { parsePreserved } from '../../src/nodepool/plan/runtime-class.ts';
import { parseQuantity, sumResourceLists } from '../../src/nodepool/quantity/quantity.ts';
import { keyProblem, valueProblem } from '../../src/nodepool/spec/syntax.ts';
import { cutBytes, ellipsize, suggest } from '../../src/nodepool/text.ts';
import { parseTemplate } from '../../src/print/jsonpath/parse.ts';
import { parseColumnsFile, tabWriter } from '../../src/print/object-template.ts';
import { renderCsv } from '../../src/print/printers.ts';
import { sanitizeJson, sanitizeLine, sanitizeScreen, sanitizeText } from '../../src/print/sanitize.ts';
import { renderTable } from '../../src/print/table.ts';
import { widthOf, wrap } from '../../src/print/width.ts';
import { toYaml } from '../../src/print/yaml.ts';

type Texts = Record<string, (length: number) => string>;

export interface Candidate {
  name: string;
  run: (text: string) => unknown;
  texts: Texts;
}

/** Repeats the unit to the length, between two texts. */
const of =
  (unit: string, before = '', after = '') =>
  (length: number) =>
    before + unit.repeat(Math.ceil(length / unit.length)) + after;

const counted = (unit: (index: number) => string) => (length: number) =>
  Array.from({ length: Math.ceil(length / unit(1000).length) }, (_, index) => unit(index)).join('');

const YAML: Texts = {
  'a JSON string that is not closed': of('x', '{"'),
  'a JSON string of escapes that is not closed': of('"\\', '{'),
  'JSON objects one after the other': of('{}\n'),
  'braces that do not match': of('}{{}'),
  'a string that is not closed': of('x ', 'a: "'),
  'escapes that are not closed': of('\\', 'a: "'),
  documents: of('--- {a: 1}\n'),
  'empty documents': of('---\n'),
  'lines that are empty': of('\n ', '', 'x: ['),
  'a list of objects': of('- {a: 1}\n', 'kind: List\nitems:\n'),
  keys: counted(index => `k${index}: 1\n`),
  anchors: counted(index => `- &a${index} b\n`),
  aliases: of('- *a\n', '- &a b\n'),
  'aliases to all that is above': counted(index =>
    index === 0 ? 'k: &a0 [x]\n' : `k${index}: &a${index} [*a${index - 1},*a${index - 1}]\n`,
  ),
  'merge keys': of('- <<: *a\n', '- &a {b: 1, c: 2}\n'),
  'lists in each other': of('['),
  'keys in each other': of('? '),
  'pairs in a list': of('b: c,', 'a: [', ']'),
  digits: of('1', 'a: ', 'x'),
  'spaces before a comment': of(' ', 'a: b', '#'),
};

/** Looks up the position of a field in every object. */
function placesOf(text: string): unknown {
  return parseDocuments(text, 'pools.yaml').map(({ placeOf }) => placeOf(`spec.labels[${'a.'.repeat(10)}].b`));
}

const PROXY = new URL('https://cluster.example.com:6443');

export const CANDIDATES: readonly Candidate[] = [
  {
    name: 'parseQuantity',
    run: parseQuantity,
    texts: {
      zeros: of('0', '', 'x'),
      digits: of('1', '', 'x'),
      fraction: of('0', '.', 'x'),
      suffix: of('E', '1', 'x'),
    },
  },
  {
    name: 'sumResourceLists',
    run: text =>
      sumResourceLists(
        text.split(' ').map(cpu => ({ cpu })),
        () => {},
      ),
    texts: { terms: of('1.5Gi 7n 3m ', '', '1') },
  },
  {
    name: 'parseTemplate',
    run: parseTemplate,
    texts: {
      digits: of('1', '{', '.1.}'),
      'spaces in a union': of(' ', '{[1,', '1]}'),
      'a union': of('1,', '{[', '1]}'),
      'operators of a filter': of('=', '{[?(a', '\u2028)]}'),
      'filters in each other': of('[?(', '{'),
      escapes: of('\\n', '{"', '"}'),
      steps: of('..a', '{', '}'),
      actions: of('{}'),
    },
  },
  {
    name: 'parseColumnsFile',
    run: parseColumnsFile,
    texts: { spaces: of(' ', '', '\n'), columns: of('A ', '', '\n.a') },
  },
  { name: 'parseDocuments', run: text => parseDocuments(text, 'pools.yaml'), texts: YAML },
  {
    name: 'placeOf',
    run: placesOf,
    texts: { items: YAML['a list of objects'] ?? of(''), documents: YAML.documents ?? of('') },
  },
  { name: 'documentsIn', run: documentsIn, texts: YAML },
  {
    name: 'parseKubeconfig',
    run: text => parseKubeconfig(text, 'config'),
    texts: { users: text => `users:\n${counted(index => `- name: u${index}\n`)(text)}` },
  },
  { name: 'withoutLogin', run: withoutLogin, texts: { letters: of('a'), schemes: of('a://') } },
  {
    name: 'parseRecord',
    run: parseRecord,
    texts: { brackets: of('['), labels: of('"a":"b",', '{"pool":"p","labels":{', '"c":"d"}}') },
  },
  {
    name: 'parsePreserved',
    run: text => parsePreserved(text, 'a'),
    texts: {
      brackets: of('['),
      digits: of('1', '{"pool":"a","overhead":{"podFixed":{"cpu":"', '"}}}'),
      labels: counted(index => `${index === 0 ? '{"pool":"a","labels":{' : ','}"k${index}":""`),
    },
  },
  {
    name: 'parseMaintenance',
    run: parseMaintenance,
    texts: {
      brackets: of('['),
      'an owner': of('x', '{"owner":"', '"}'),
      digits: of('1', '{"owner":"a","since":"2026', '"}'),
    },
  },
  {
    name: 'parseUntil',
    run: text => parseUntil(text, new Date(0)),
    texts: { digits: of('1', '', 'x'), units: of('1s', '', 'x'), fractions: of('1', '2026-01-01T00:00:00.', 'x') },
  },
  {
    name: 'parseDuration',
    run: text => parseDuration(text, '--timeout'),
    texts: { digits: of('1', '', 'x'), units: of('1s', '', 'x'), points: of('1.', '', 'x') },
  },
  {
    name: 'flags of labels and taints',
    run: text => [parseLabelEdits(text.split(' ')), parseTaintEdits(text.split(' '))],
    texts: { removals: text => counted(index => `k${index}- `)(text).trim() },
  },
  {
    name: 'isNamedIn',
    run: text => isNamedIn(text, 'a'),
    texts: {
      'lists of names': of('nodes b, ', 'x: '),
      'a long list': of('b, ', '9 nodes '),
      words: of('node '),
      colons: of(': '),
    },
  },
  { name: 'suggest', run: text => suggest(text, [`y${text}`, `${text}z`]), texts: { letters: of('ab') } },
  {
    name: 'keys and values',
    run: text => [keyProblem(text), valueProblem(text)],
    texts: { 'a-': of('a-'), slashes: of('a/') },
  },
  {
    name: 'label selectors',
    run: text => parseLabelSelector(text)({ a: 'b' }),
    texts: {
      keys: counted(index => `k${index},`),
      values: of('b,', 'a in (', 'b)'),
      spaces: of(' '),
      signs: of('=!'),
      'a word': of('a', 'a='),
      digits: of('1', 'a>'),
    },
  },
  {
    name: 'NO_PROXY',
    run: text => proxyFromEnvironment(PROXY, { HTTPS_PROXY: 'http://proxy.example.com', NO_PROXY: text }),
    texts: { names: of('a,'), brackets: of('['), digits: of('1', '1/', 'x'), ranges: of('1/1,') },
  },
  {
    name: 'toYaml',
    run: text => toYaml({ [text]: text, [`${text}0`]: 1, [`${text}1`]: 1 }),
    texts: {
      digits: of('1', '', 'x'),
      'digits behind a point': of('1_1', '.', 'x'),
      'base 60': of(':1', '1', 'x'),
      hexadecimal: of('f', '0x'),
      binary: of('1', '0b'),
      joiners: of('\u200d'),
      quotes: of("'"),
      words: of('x y '),
      spaces: of(' ', 'x', 'x\n'),
      lines: of('x\n'),
    },
  },
  {
    name: 'sanitizer',
    run: text => [sanitizeLine(text), sanitizeText(text), sanitizeJson(text), sanitizeScreen(text)],
    texts: {
      joiners: of('\u200d'),
      selectors: of('a\ufe0f'),
      escapes: of('\u001b['),
      digits: of('1;', '\u001b['),
      halves: of('\ud800'),
    },
  },
  {
    name: 'widths',
    run: text => [widthOf(text), wrap(text, 20)],
    texts: {
      emoji: of('\u{1f600}\u200d'),
      flags: of('\u{1f1e6}'),
      marks: of('\u0301', 'a'),
      spaces: of(' ', 'x', 'x'),
    },
  },
  {
    name: 'tables',
    run: text => [renderCsv([[text]]), renderTable([['A'], [text]]), tabWriter(cell => cell.length)(text)],
    texts: { quotes: of('"'), spaces: of(' ', 'x', 'x'), cells: of('x\t'), lines: of('x\ty\n') },
  },
  { name: 'texts that are cut', run: text => [cutBytes(text, 100), ellipsize(text, 100)], texts: { letters: of('ä') } },
];
