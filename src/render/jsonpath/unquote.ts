/** Quoted text of a template, with Go's escapes, in double or single quotes. */
import { JsonPathError } from './template.ts';

const SIMPLE: Readonly<Record<string, number>> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11, '\\': 92 };

/** Numeric escapes; isCharacter: a code point, else a byte. */
const NUMBERED: Readonly<Record<string, { digits: RegExp; base: number; isCharacter: boolean }>> = {
  x: { digits: /^x([0-9a-f]{2})/i, base: 16, isCharacter: false },
  u: { digits: /^u([0-9a-f]{4})/i, base: 16, isCharacter: true },
  U: { digits: /^U([0-9a-f]{8})/i, base: 16, isCharacter: true },
  octal: { digits: /^([0-7]{3})/, base: 8, isCharacter: false },
};

/**
 * @param quoted with its quotes
 * @throws JsonPathError
 */
export function unquote(quoted: string): string {
  const quote = quoted[0];
  const inner = quoted.slice(1, -1);
  if (!inner.includes('\\')) return inner;
  const wrong = new JsonPathError(`unquote string ${quoted} error invalid syntax`);
  // As bytes: "\xc3\xa4" is one character.
  const parts: Uint8Array[] = [];
  const utf8 = new TextEncoder();
  for (let at = 0; at < inner.length; ) {
    const slash = inner.indexOf('\\', at);
    const plain = inner.slice(at, slash < 0 ? inner.length : slash);
    // An unescaped quote: the backslash before it was itself escaped.
    if (plain.includes(quote ?? '')) throw wrong;
    parts.push(utf8.encode(plain));
    if (slash < 0) break;
    const found = readEscape(inner.slice(slash + 1), quote);
    if (found === undefined) throw wrong;
    parts.push(found.isCharacter ? utf8.encode(String.fromCodePoint(found.code)) : Uint8Array.of(found.code));
    at = slash + 1 + found.length;
  }
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(joined(parts));
}

/** @param rest what follows the backslash */
function readEscape(rest: string, quote: string | undefined) {
  const letter = rest[0] ?? '';
  const simple = letter === quote ? letter.charCodeAt(0) : SIMPLE[letter];
  if (simple !== undefined) return { code: simple, length: 1, isCharacter: false };
  const form = NUMBERED[/[0-7]/.test(letter) ? 'octal' : letter];
  const digits = form?.digits.exec(rest);
  if (form === undefined || !digits) return undefined;
  const code = Number.parseInt(digits[1] ?? '', form.base);
  const isValid = form.isCharacter ? code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) : code <= 0xff;
  return isValid ? { code, length: digits[0].length, isCharacter: form.isCharacter } : undefined;
}

function joined(parts: Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
