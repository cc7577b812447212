/** Records and flags: a written value is read unchanged. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseDuration } from '../../../src/cli/duration.ts';
import {
  parseLabelEdits,
  parseLabels,
  parseTaintEdits,
  parseTaints,
} from '../../../src/commands/shared/spec/flag-syntax.ts';
import { parseStartupTaintEdits, parseStartupTaints } from '../../../src/commands/shared/spec/pool-flags.ts';
import { formatMaintenance, parseMaintenance } from '../../../src/nodepool/drain/maintenance.ts';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import { type AppliedRecord, type AppliedSlot, formatRecord, parseRecord } from '../../../src/nodepool/plan/record.ts';
import { formatPreserved, parsePreserved } from '../../../src/nodepool/plan/runtime-class.ts';
import { isPoolAnnotation } from '../../../src/nodepool/spec/annotations.ts';
import { formatTaint, keyProblem, TAINT_EFFECTS, valueProblem } from '../../../src/nodepool/spec/syntax.ts';
import { taintId } from '../../../src/nodepool/spec/taints.ts';
import { property, throwsOnly, wordsOf } from './property.ts';

const word = fc.string({ unit: fc.constantFrom(...'abZ09-_.'), minLength: 1, maxLength: 12 });
const key = fc
  .tuple(fc.option(word, { nil: undefined }), word)
  .map(([prefix, name]) => (prefix === undefined ? name : `${prefix.toLowerCase()}/${name}`))
  .filter(text => keyProblem(text) === undefined && !text.includes('kubernetes'));
const value = fc.oneof(fc.constant(''), word).filter(text => valueProblem(text) === undefined);
const effect = fc.constantFrom(...TAINT_EFFECTS);
const taint = fc
  .record({ key, value, effect }, { noNullPrototype: true })
  .map(one => (one.value === '' ? { key: one.key, effect: one.effect } : one));

const slot: fc.Arbitrary<AppliedSlot> = fc
  .tuple(fc.option(value, { nil: null }), fc.option(value, { nil: undefined }))
  .map(([written, displaced]) => (displaced === undefined ? { value: written } : { value: written, displaced }));
const text = fc.string({ unit: 'grapheme' });
const annotation: fc.Arbitrary<AppliedSlot> = fc
  .tuple(text, fc.option(text, { nil: undefined }))
  .map(([written, displaced]) => (displaced === undefined ? { value: written } : { value: written, displaced }));
const record = fc.record({
  pool: fc.constantFrom('gpu', 'a.b-c'),
  labels: fc.array(fc.tuple(key, slot)).map(pairs => new Map(pairs)),
  taints: fc.array(fc.tuple(taint.map(taintId), slot)).map(pairs => new Map(pairs)),
  annotations: fc.array(fc.tuple(key.filter(isPoolAnnotation), annotation)).map(pairs => new Map(pairs)),
  startup: fc.array(fc.tuple(taint.map(taintId), fc.option(value, { nil: null }))).map(pairs => new Map(pairs)),
  draining: fc.array(fc.tuple(taint.map(taintId), value), { minLength: 1 }).map(pairs => new Map(pairs)),
});
const sorted = <S>(slots: ReadonlyMap<string, S>) => new Map([...slots].toSorted(([a], [b]) => (a < b ? -1 : 1)));

property(
  'reads the record that it wrote, and writes the same text',
  fc.property(record, one => {
    const read = parseRecord(formatRecord(one));
    assert.ok(read !== undefined);
    const content = ({ pool, labels, taints, annotations, startup, draining = new Map() }: AppliedRecord) => {
      const slots = { labels: sorted(labels), taints: sorted(taints), annotations: sorted(annotations) };
      return { pool, ...slots, startup: sorted(startup), draining: sorted(draining) };
    };
    assert.deepEqual(content(read), content(one));
    assert.equal(formatRecord(read), formatRecord(one));
  }),
);

property(
  'parses any text as maintenance that is written unchanged, or none',
  fc.property(
    fc.oneof(
      text,
      fc
        .record({
          owner: fc.oneof(text, fc.jsonValue()),
          since: fc.date({ noInvalidDate: true }),
          reason: text,
          uid: text,
        })
        .map(one => JSON.stringify(one)),
    ),
    raw => {
      const read = parseMaintenance(raw);
      if (read !== undefined) assert.deepEqual(parseMaintenance(formatMaintenance(read)), read);
    },
  ),
);

property(
  'parses any text as preserved RuntimeClass fields that are written unchanged, or none',
  fc.property(
    fc.oneof(
      text,
      fc
        .record({
          pool: fc.constant('a'),
          labels: fc.jsonValue(),
          annotations: fc.jsonValue(),
          overhead: fc.jsonValue(),
        })
        .map(one => JSON.stringify(one)),
    ),
    raw => {
      const read = parsePreserved(raw, 'a') ?? {};
      const written = formatPreserved(read, 'a');
      assert.deepEqual(written === undefined ? {} : parsePreserved(written, 'a'), read);
    },
  ),
);

const anyRecord = fc.oneof(
  wordsOf([
    '{',
    '}',
    '"pool"',
    ':',
    ',',
    '"a"',
    '"labels"',
    '"taints"',
    '"annotations"',
    '"startup"',
    '"displaced"',
    'null',
    '[',
    ']',
    '1',
    '"x:NoSchedule"',
    '"__proto__"',
  ]),
  fc
    .object({
      key: fc.constantFrom('pool', 'labels', 'taints', 'startup', 'displaced', 'a', 'a/b/c', 'x:NoExecute'),
      maxDepth: 3,
    })
    .map(one => JSON.stringify({ pool: 'p', ...one })),
);

property(
  'parses any text as a record or none, and keeps only entries that a pool can write',
  fc.property(anyRecord, text => {
    const read = parseRecord(text);
    if (read === undefined) return;
    for (const [id, { value: written, displaced = '' }] of [...read.labels, ...read.taints]) {
      assert.equal(keyProblem(id.replace(/:[A-Za-z]+$/, '')), undefined);
      assert.equal(valueProblem(written ?? ''), undefined);
      assert.equal(valueProblem(displaced), undefined);
    }
    for (const [id, given] of read.startup) {
      assert.equal(keyProblem(id.replace(/:[A-Za-z]+$/, '')), undefined);
      assert.equal(valueProblem(given ?? ''), undefined);
    }
    assert.deepEqual(parseRecord(formatRecord(read)), {
      ...read,
      labels: sorted(read.labels),
      taints: sorted(read.taints),
      startup: sorted(read.startup),
    });
  }),
  500,
);

property(
  'parses flags to the labels and taints in them',
  fc.property(fc.array(taint, { maxLength: 5 }), fc.dictionary(key, value, { maxKeys: 5 }), (taints, labels) => {
    const unique = [...new Map(taints.map(one => [taintId(one), one])).values()];
    assert.deepEqual(parseTaints(unique.map(formatTaint)), unique);
    assert.deepEqual(parseLabels(Object.entries(labels).map(([name, text]) => `${name}=${text}`)), { ...labels });
    assert.deepEqual(parseLabelEdits(Object.keys(labels).map(name => `${name}-`)), {
      set: {},
      remove: Object.keys(labels),
    });
    assert.deepEqual(parseTaintEdits(unique.map(one => `${taintId(one)}-`)), {
      set: [],
      remove: unique.map(one => ({ key: one.key, effect: one.effect })),
    });
  }),
);

const READERS = [parseLabels, parseTaints, parseLabelEdits, parseTaintEdits];
const flag = wordsOf(
  ['a', 'b', '/', '=', ':', '-', ',', 'until=', 'NoSchedule', 'NoExecute-', '.', '1', 's', 'ms', 'h', '0'],
  8,
);

property(
  'parses any flag, or throws a NodepoolError',
  fc.property(fc.array(flag, { maxLength: 3 }), texts => {
    for (const read of [...READERS, parseStartupTaints, parseStartupTaintEdits])
      throwsOnly([NodepoolError], () => read(texts));
    for (const text of texts) {
      throwsOnly([NodepoolError], () => {
        const ms = parseDuration(text, '--timeout');
        assert.ok(Number.isSafeInteger(ms) && ms >= 0 && (ms > 0 || !/[1-9]/.test(text)));
      });
    }
  }),
  500,
);
