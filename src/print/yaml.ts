/**
 * YAML like `kubectl get -o yaml`: keys in natural order, lists not indented under their key, long lines folded.
 *
 * Not guaranteed: the notation of floats, which the Kubernetes API avoids.
 */
import { isObject } from '../nodepool/json.ts';
import { checkDepth } from './depth.ts';
import { sanitizeText } from './sanitize.ts';

/** Go's emitter writes longer keys with `? `. */
const MAX_SIMPLE_KEY_LENGTH = 128;

/**
 * @param object plain JSON data; undefined members are omitted. @returns without the last newline
 * Throws NodepoolError if the data is nested too deeply.
 */
export function toYaml(object: Record<string, unknown>): string {
  checkDepth(object);
  const members = defined(object);
  return members.length === 0 ? '{}' : mapping(members, 0);
}

type Member = [key: string, value: unknown];

/** The first line is not indented, because it may follow a `- `. */
function mapping(members: Member[], indent: number): string {
  return members
    .toSorted(([a], [b]) => compareKeys(a, b))
    .map(([key, value]) => member(key, value, indent))
    .join(`\n${' '.repeat(indent)}`);
}

function member(key: string, value: unknown, indent: number): string {
  if (Buffer.byteLength(key) > MAX_SIMPLE_KEY_LENGTH || /[\n\r]/.test(key)) return longMember(key, value, indent);
  const name = yamlKey(key);
  const nested = Array.isArray(value) ? indent : indent + 2;
  const inner = block(value, nested);
  return inner === undefined
    ? `${name}: ${scalar(value, indent + [...name].length + 1, indent + 2)}`
    : `${name}:\n${' '.repeat(nested)}${inner}`;
}

function longMember(key: string, value: unknown, indent: number): string {
  const below = { column: indent + 1, indent: indent + 2 };
  return `? ${yamlScalar(key, below)}\n${' '.repeat(indent)}: ${item(value, indent)}`;
}

/** A non-empty list or mapping; undefined for everything else. */
function block(value: unknown, indent: number): string | undefined {
  if (Array.isArray(value)) return value.length === 0 ? undefined : list(value, indent);
  const members = isObject(value) ? defined(value) : [];
  return members.length === 0 ? undefined : mapping(members, indent);
}

function list(items: unknown[], indent: number): string {
  return items.map(entry => `- ${item(entry, indent)}`).join(`\n${' '.repeat(indent)}`);
}

/** The value after a `- ` or `: ` at this indentation. */
function item(value: unknown, indent: number): string {
  return block(value, indent + 2) ?? scalar(value, indent + 1, indent + 2);
}

function scalar(value: unknown, column: number, indent: number): string {
  if (typeof value === 'string') return yamlScalar(value, { column, indent });
  if (Array.isArray(value)) return '[]';
  return isObject(value) ? '{}' : String(value ?? null);
}

function defined(object: Record<string, unknown>): Member[] {
  return Object.entries(object).filter(([, value]) => value !== undefined);
}

/** yaml.v2's order: letters by code point and after all others, runs of digits by value, then by length. */
function compareKeys(a: string, b: string): number {
  const [x, y] = [[...a], [...b]];
  for (let i = 0; i < x.length && i < y.length; i++) {
    const [p = '', q = ''] = [x[i], y[i]];
    if (p === q) continue;
    const [pLetter, qLetter] = [/\p{L}/u.test(p), /\p{L}/u.test(q)];
    if (pLetter !== qLetter) return qLetter ? -1 : 1;
    return (pLetter ? 0 : compareDigits(x, y, i)) || (p.codePointAt(0) ?? 0) - (q.codePointAt(0) ?? 0);
  }
  return x.length - y.length;
}

function compareDigits(x: string[], y: string[], at: number): number {
  const [xRun, yRun] = [digitsFrom(x, at), digitsFrom(y, at)];
  // A zero inside of a number is not a leading zero: a 1 in front of both keeps the place value.
  const inside = (x[at] === '0' || y[at] === '0') && isInNumber(x, at) ? '1' : '';
  return Number(inside + xRun) - Number(inside + yRun) || xRun.length - yRun.length;
}

/** Whether any of the digits right before is not 0. */
function isInNumber(characters: string[], at: number): boolean {
  let before = at - 1;
  while (/(?![1-9])\p{Nd}/u.test(characters[before] ?? '')) before--;
  return /[1-9]/.test(characters[before] ?? '');
}

function digitsFrom(characters: string[], at: number): string {
  let end = at;
  while (/[0-9]/.test(characters[end] ?? '')) end++;
  return characters.slice(at, end).join('');
}

// A string as YAML, byte for byte like Go's yaml.v2, which kubectl uses: plain if that reads back as the same string,
// else quoted; `|` for text with newlines; folded at a space once a line is longer than 80 columns.
//
// The only difference: characters that sanitizeText() would escape (bidirectional controls, line separators, zero-width
// spaces, joiners that hide text) are escaped in double quotes: sanitizing for a terminal keeps the value.

/** Text is folded at the first single space beyond this column. */
const BEST_WIDTH = 80;

/** Go's emitter escapes everything except printable characters of the basic plane. */
const NOT_PRINTABLE = /[^\n\u0020-\u007e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/u;

interface Position {
  /** Characters on the line before the scalar, without the space in front of it. */
  column: number;
  /** Indentation of continuation lines. */
  indent: number;
}

/** @returns the scalar without the space before it and the newline after it (but see `|+` and `|`) */
function yamlScalar(value: string, { column, indent }: Position): string {
  const text = value.toWellFormed();
  const mustEscape = needsEscapes(text);
  if (text.includes('\n')) {
    return mustEscape || / (\n|$)/.test(text) ? doubleQuoted(text, column, indent) : literal(text, indent);
  }
  if (mustEscape || resolvesToOther(text)) return doubleQuoted(text, column, indent);
  return plainAllowed(text) ? fold(text, column + 1, indent) : singleQuoted(text, column, indent);
}

/** A mapping key: a scalar on one line. */
function yamlKey(key: string): string {
  const text = key.toWellFormed();
  if (needsEscapes(text) || text.includes('\n') || resolvesToOther(text)) return `"${escaped(text).join('')}"`;
  return plainAllowed(text) ? text : `'${text.replaceAll("'", "''")}'`;
}

function needsEscapes(text: string): boolean {
  return NOT_PRINTABLE.test(text) || isUnsafe(text);
}

function isUnsafe(text: string): boolean {
  return sanitizeText(text) !== text;
}

function plainAllowed(text: string): boolean {
  if (/^ | $/.test(text)) return false;
  if (/^(---|\.\.\.|[#,[\]{}&*!|>'"%@`]|[?:-]([ \t]|$))/.test(text)) return false;
  return !/:([ \t]|$)|[ \t]#/.test(text);
}

function singleQuoted(text: string, column: number, indent: number): string {
  return `${fold(`'${text}`, column + 1, indent, 1).replace(/(?<!^)'/gs, "''")}'`;
}

/** Breaks lines at single spaces; a quote within single quotes counts as two, as it is written. */
function fold(text: string, column: number, indent: number, opening = 0): string {
  const characters = [...text];
  let out = '';
  let at = column;
  for (const [i, character] of characters.entries()) {
    const inside = i > opening && i < characters.length - 1;
    const single = character === ' ' && characters[i - 1] !== ' ' && characters[i + 1] !== ' ';
    if (single && inside && at > BEST_WIDTH) {
      out += `\n${' '.repeat(indent)}`;
      at = indent;
    } else {
      out += character;
      at += opening > 0 && i > 0 && character === "'" ? 2 : 1;
    }
  }
  return out;
}

function doubleQuoted(text: string, column: number, indent: number): string {
  const characters = [...text];
  const escapes = escaped(text);
  let out = '"';
  let at = column + 2;
  let afterSpace = false;
  for (const [i, character] of characters.entries()) {
    const inside = i > 0 && i < characters.length - 1;
    if (character === ' ' && !afterSpace && inside && at > BEST_WIDTH) {
      // At the start of a line, a second space would be lost.
      const guard = characters[i + 1] === ' ' ? '\\' : '';
      out += `\n${' '.repeat(indent)}${guard}`;
      at = indent + guard.length;
    } else {
      const written = escapes[i] ?? '';
      out += written;
      at += written.length;
    }
    afterSpace = character === ' ';
  }
  return `${out}"`;
}

function literal(text: string, indent: number): string {
  const hint = /^[ \n]/.test(text) ? '2' : '';
  const chomp = text.endsWith('\n') ? (text === '\n' || text.endsWith('\n\n') ? '+' : '') : '-';
  const lines = text.split('\n').map(line => (line === '' ? '' : ' '.repeat(indent) + line));
  // The caller adds the last newline.
  if (chomp !== '-') lines.pop();
  return [`|${hint}${chomp}`, ...lines].join('\n');
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '\0': '\\0',
  '\x07': '\\a',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\v': '\\v',
  '\f': '\\f',
  '\r': '\\r',
  '\x1b': '\\e',
  '"': '\\"',
  '\\': '\\\\',
  '\x85': '\\N',
  '\u2028': '\\L',
  '\u2029': '\\P',
};

/** The characters, escaped if necessary. Whether a joiner is safe depends on the whole text. */
function escaped(text: string): string[] {
  const mustEscape = isUnsafe(text) ? needsEscapes : (character: string) => NOT_PRINTABLE.test(character);
  return [...text].map(character => {
    const short = SHORT_ESCAPES[character];
    if (short !== undefined) return short;
    return mustEscape(character) ? numbered(character) : character;
  });
}

function numbered(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const [letter, digits] = code <= 0xff ? ['x', 2] : code <= 0xffff ? ['u', 4] : ['U', 8];
  return `\\${letter}${code.toString(16).toUpperCase().padStart(digits, '0')}`;
}

const WORDS = new Set(
  ['y', 'yes', 'true', 'on', 'n', 'no', 'false', 'off', 'null', '.nan', '.inf', '+.inf', '-.inf']
    .flatMap(word => [word, word.toUpperCase(), word.replace(/[a-z]/, letter => letter.toUpperCase())])
    .concat('', '~', '.NaN'),
);
const BASE_60 = /^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$/;
const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;
/** Only here does Go check the positions of underscores. */
const DOT_FLOAT = /^\.[0-9]+(_[0-9]+)*([eE][-+]?[0-9]+(_[0-9]+)*)?$/;
const RADIX = /^([-+]?)0(?:x([0-9a-f]+)|o([0-7]+)|b([01]+))$/i;
const TIMESTAMP =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:([Tt ])(\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(Z|[-+]\d\d:\d\d)?)?$/;

/** Whether a YAML 1.1 parser would read the plain text as a boolean, null, number or time. */
function resolvesToOther(text: string): boolean {
  if (WORDS.has(text) || BASE_60.test(text) || isTimestamp(text)) return true;
  const plain = text.replaceAll('_', '');
  if (text.startsWith('.')) return DOT_FLOAT.test(text) && Number.isFinite(Number(plain));
  if (!/^[-+0-9]/.test(text)) return false;
  if (FLOAT.test(plain)) return Number.isFinite(Number(plain));
  return isRadixInteger(plain) || /^0b[-+][01]{1,63}$/.test(plain);
}

/** 64-bit integers; Go reads longer ones as strings. */
function isRadixInteger(text: string): boolean {
  const [, sign = '', hex, octal, binary] = RADIX.exec(text) ?? [];
  const digits = hex === undefined ? (octal === undefined ? binary : `0o${octal}`) : `0x${hex}`;
  if (digits === undefined) return false;
  const value = BigInt(digits === binary ? `0b${digits}` : digits);
  return value < 1n << (sign === '' ? 64n : 63n) || (sign === '-' && value === 1n << 63n);
}

function isTimestamp(text: string): boolean {
  const [, year, month, day, separator, hour = '0', minute = '0', second = '0', zone] = TIMESTAMP.exec(text) ?? [];
  if (year === undefined || month === undefined || day === undefined) return false;
  // After T a zone is required, after a space none is allowed.
  if (separator !== undefined && (separator === ' ') !== (zone === undefined)) return false;
  const date = new Date(Date.UTC(2000, Number(month) - 1, Number(day)));
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  const onCalendar = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
  return onCalendar && Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60;
}
