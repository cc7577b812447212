/**
 * Escapes text from a cluster for a terminal: whoever can write an annotation must not be able to move the cursor,
 * colour the screen, reverse lines or hide a part of a name (CVE-2021-25743). Unsafe characters are shown as escapes,
 * never dropped.
 */
import { GROUP } from '../nodepool/types.ts';

/** Control characters: C0 except newline and tab, DEL and C1. */
const CONTROLS = String.raw`\u0000-\u0008\u000b-\u001f\u007f-\u009f`;
/** Invisible characters, or those that change others: bidirectional controls, separators, zero-width, fillers, tags. */
const INVISIBLE_BASIC = String.raw`\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb`;
/** The same beyond the basic plane: shorthand and music format controls, tags, ideographic variation selectors. */
const INVISIBLE_ASTRAL = /[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/u;

/** Zero-width joiners and non-joiners, and variation selectors. */
const JOINERS = String.raw`\u200c\u200d`;
const SELECTORS = String.raw`\u180b-\u180d\u180f\ufe00-\ufe0f`;
const JOINER = new RegExp(`[${JOINERS}]`);
const SELECTOR = new RegExp(`[${SELECTORS}]`);
/** Next to these, or at an end, a joiner or selector has no effect. */
const BARE = new RegExp(String.raw`^$|[\u0000-\u009f${INVISIBLE_BASIC}${JOINERS}]`);

/** Possibly unsafe; isSafe() decides about joiners, selectors and surrogate pairs. The flag u would be slower. */
const SUSPECT = String.raw`[${CONTROLS}${INVISIBLE_BASIC}${JOINERS}${SELECTORS}]|[\ud800-\udbff][\udc00-\udfff]?|[\udc00-\udfff]`;
const UNSAFE = new RegExp(String.raw`[\u0009\u000a]|${SUSPECT}`, 'g');
/** The same, but newline and tab are allowed. */
const UNSAFE_IN_LINES = new RegExp(SUSPECT, 'g');
/** The same, but SGR sequences are allowed, because the colours are ours. */
const UNSAFE_BESIDE_COLORS = new RegExp(String.raw`(?!\u001b\[[\d;]*m)(?:${SUSPECT})`, 'g');
/** Includes the three characters that Go escapes for HTML. JSON.stringify itself escapes control characters. */
const UNSAFE_IN_JSON = new RegExp(`[<>&]|${SUSPECT}`, 'g');

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** For one cell or line: newlines and tabs become `\n` and `\t`. */
export function sanitizeLine(text: string): string {
  return escapeAll(text, UNSAFE, escapeCharacter);
}

/** For text with several lines: keeps newlines and tabs. */
export function sanitizeText(text: string): string {
  return escapeAll(text, UNSAFE_IN_LINES, escapeCharacter);
}

/** For a coloured screen whose cells are already escaped: a second check. */
export function sanitizeScreen(text: string): string {
  return escapeAll(text, UNSAFE_BESIDE_COLORS, escapeCharacter);
}

/** For JSON: escapes characters unsafe on a terminal, and those that Go escapes for HTML, as `\uXXXX`. Same value. */
export function sanitizeJson(json: string): string {
  return escapeAll(json, UNSAFE_IN_JSON, unicodeEscapes);
}

function escapeAll(text: string, unsafe: RegExp, written: (character: string) => string): string {
  return text.replace(unsafe, (character, at: number) =>
    isSafe(character, at, text) ? character : written(character),
  );
}

/** Emoji and many scripts need joiners and selectors; next to ASCII, at an end or repeated they only hide text. */
function isSafe(character: string, at: number, text: string): boolean {
  if (character.length === 2) return !INVISIBLE_ASTRAL.test(character);
  const [before = '', after = ''] = [text[at - 1], text[at + 1]];
  if (JOINER.test(character)) return stays(at - 1, text) && stays(at + 1, text) && !SELECTOR.test(after);
  if (!SELECTOR.test(character)) return false;
  // A keycap, or a variation of the previous character.
  return after === '\u20e3' ? /[#*0-9]/.test(before) : stays(at - 1, text) && !SELECTOR.test(before);
}

/** Whether a joiner or selector may follow the character, which must not become ASCII by its own escape. */
function stays(at: number, text: string): boolean {
  const unit = text[at] ?? '';
  if (BARE.test(unit)) return false;
  if (SELECTOR.test(unit)) return isSafe(unit, at, text);
  if (!/[\ud800-\udfff]/.test(unit)) return true;
  const pair = unit < '\udc00' ? unit + (text[at + 1] ?? '') : (text[at - 1] ?? '') + unit;
  return pair.isWellFormed() && !INVISIBLE_ASTRAL.test(pair);
}

/** As in JSON, so that readers need to know only one form of escapes. */
function escapeCharacter(character: string): string {
  return NAMED[character] ?? unicodeEscapes(character);
}

/** Characters beyond the basic plane become a surrogate pair, as in JSON. */
function unicodeEscapes(character: string): string {
  return character.replace(/./gs, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** `nodepool.nodes.lailin.xyz/worker`, as printed by -o name and at the start of messages. */
export function poolRef(name: string): string {
  return `nodepool.${GROUP}/${sanitizeLine(name)}`;
}
