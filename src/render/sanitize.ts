/**
 * Text from a cluster, made safe for a terminal: whoever may write an annotation must not move the reader's cursor,
 * colour his screen or turn his lines around (CVE-2021-25743). What is unsafe is shown as an escape, never dropped.
 */

/** C0, DEL and C1 controls, bidirectional controls, line and paragraph separators, lone surrogates. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\p{Cs}]/gu;
/** The same without newline and tab. */
const UNSAFE_IN_LINES = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\p{Cs}]/gu;

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** For one cell or one line: newlines and tabs become `\n` and `\t`. */
export function sanitizeLine(text: string): string {
  return text.replace(UNSAFE, escapeCharacter);
}

/** For text of several lines: newlines and tabs stay. */
export function sanitizeText(text: string): string {
  return text.replace(UNSAFE_IN_LINES, escapeCharacter);
}

/**
 * For JSON that `JSON.stringify` made: what it leaves unescaped and a terminal obeys, and what Go escapes for HTML,
 * as `\uXXXX`. The value stays the same.
 */
export function sanitizeJson(json: string): string {
  return json.replace(/[<>&\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, unicodeEscape);
}

function escapeCharacter(character: string): string {
  const code = character.charCodeAt(0);
  if (code > 0xff) return unicodeEscape(character);
  return NAMED[character] ?? `\\x${code.toString(16).padStart(2, '0')}`;
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
