/**
 * Text from a cluster, made safe for a terminal: whoever may write an annotation must not move the reader's cursor,
 * colour his screen, turn his lines around or hide a part of a name (CVE-2021-25743). What is unsafe is shown as an
 * escape, never dropped.
 */

/** C0 without newline and tab, DEL and C1: what a terminal obeys. */
const CONTROLS = String.raw`\u0000-\u0008\u000b-\u001f\u007f-\u009f`;
/**
 * What is not seen, or changes what is: soft hyphen, bidirectional controls, line and paragraph separators, zero-width
 * space and its like, fillers of width, interlinear annotations, tags.
 */
const INVISIBLE_BASIC = String.raw`\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb`;
/** The same beyond the basic plane: formats of shorthand and of music, tags, forms of ideographs. */
const INVISIBLE_ASTRAL = /[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/u;

/** What joins its neighbours, and what chooses among the forms of the one before. */
const JOINERS = String.raw`\u200c\u200d`;
const SELECTORS = String.raw`\u180b-\u180d\u180f\ufe00-\ufe0f`;
const JOINER = new RegExp(`[${JOINERS}]`);
const SELECTOR = new RegExp(`[${SELECTORS}]`);
/** Neither belongs beside these, nor at an end. */
const BARE = new RegExp(String.raw`^$|[\u0000-\u009f${INVISIBLE_BASIC}${JOINERS}]`);

/** All that may be unsafe; isFine() knows better of joiners, selectors and pairs. The flag u would slow it down. */
const SUSPECT = String.raw`[${CONTROLS}${INVISIBLE_BASIC}${JOINERS}${SELECTORS}]|[\ud800-\udbff][\udc00-\udfff]?|[\udc00-\udfff]`;
const UNSAFE = new RegExp(String.raw`[\u0009\u000a]|${SUSPECT}`, 'g');
/** The same without newline and tab. */
const UNSAFE_IN_LINES = new RegExp(SUSPECT, 'g');
/** The same where colours are ours: what colours is let through. */
const UNSAFE_BESIDE_COLORS = new RegExp(String.raw`(?!\u001b\[[\d;]*m)(?:${SUSPECT})`, 'g');
/** JSON.stringify escapes the others itself; Go escapes these three for HTML. */
const UNSAFE_IN_JSON = new RegExp(`[<>&]|${SUSPECT}`, 'g');

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** For one cell or one line: newlines and tabs become `\n` and `\t`. */
export function sanitizeLine(text: string): string {
  return escapeAll(text, UNSAFE, escapeCharacter);
}

/** For text of several lines: newlines and tabs stay. */
export function sanitizeText(text: string): string {
  return escapeAll(text, UNSAFE_IN_LINES, escapeCharacter);
}

/** For a whole screen that has been made safe cell by cell and then coloured: nothing is left to escape but by mistake. */
export function sanitizeScreen(text: string): string {
  return escapeAll(text, UNSAFE_BESIDE_COLORS, escapeCharacter);
}

/**
 * For JSON that `JSON.stringify` made: what it leaves unescaped and a terminal obeys, and what Go escapes for HTML,
 * as `\uXXXX`. The value stays the same.
 */
export function sanitizeJson(json: string): string {
  return escapeAll(json, UNSAFE_IN_JSON, unicodeEscapes);
}

function escapeAll(text: string, unsafe: RegExp, written: (character: string) => string): string {
  return text.replace(unsafe, (character, at: number) =>
    isFine(character, at, text) ? character : written(character),
  );
}

/** Joiners and selectors belong to emoji and to many scripts; beside ASCII, at an end and in rows they only hide. */
function isFine(character: string, at: number, text: string): boolean {
  if (character.length === 2) return !INVISIBLE_ASTRAL.test(character);
  const [before = '', after = ''] = [text[at - 1], text[at + 1]];
  if (JOINER.test(character)) return stays(at - 1, text) && stays(at + 1, text) && !SELECTOR.test(after);
  if (!SELECTOR.test(character)) return false;
  // A keycap, or the form of what stands before.
  return after === '\u20e3' ? /[#*0-9]/.test(before) : stays(at - 1, text) && !SELECTOR.test(before);
}

/** Whether what is there is something to stand beside, and not escaped itself: its escape would be ASCII. */
function stays(at: number, text: string): boolean {
  const unit = text[at] ?? '';
  if (BARE.test(unit)) return false;
  if (SELECTOR.test(unit)) return isFine(unit, at, text);
  if (!/[\ud800-\udfff]/.test(unit)) return true;
  const pair = unit < '\udc00' ? unit + (text[at + 1] ?? '') : (text[at - 1] ?? '') + unit;
  return pair.isWellFormed() && !INVISIBLE_ASTRAL.test(pair);
}

/** In the form that JSON has: of one character, no two are seen beside each other. */
function escapeCharacter(character: string): string {
  return NAMED[character] ?? unicodeEscapes(character);
}

/** Two of them for a character beyond the basic plane, as JSON has it. */
function unicodeEscapes(character: string): string {
  return character.replace(/./gs, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
