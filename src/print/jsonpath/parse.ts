/** Parses a template; accepts and refuses the same as kubectl. */
import {
  checkTemplateLength,
  JsonPathError,
  type SliceEnd,
  type Template,
  type TemplatePart,
  type TemplateStep,
} from './template.ts';

const WORD_START = /[\p{L}\p{Nd}_]/u;
const FIELD_END = /[ \t\r\n.,[\]$@{}]/;
const SLICE = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/;
/** Left side, operator, right side. */
const COMPARISON = /^([^!<>=]+)([!<>=]+)([^\n]+)$/;

/** @throws JsonPathError */
export function parseTemplate(text: string): Template {
  checkTemplateLength(text);
  return new Parser(text).template();
}

/** Parses the text as if it were in braces. */
function parseAction(text: string): TemplateStep[] {
  const [first] = parseTemplate(`{${text}}`);
  return first?.kind === 'action' ? first.steps : [];
}

class Parser {
  readonly #input: string;
  #at = 0;

  constructor(input: string) {
    this.#input = input;
  }

  template(): TemplatePart[] {
    const parts: TemplatePart[] = [];
    while (this.#at < this.#input.length) {
      const text = this.#until('{');
      if (text !== '') parts.push({ kind: 'text', text });
      if (this.#take('{')) parts.push({ kind: 'action', steps: this.#action() });
    }
    return parts;
  }

  #action(): TemplateStep[] {
    const steps: TemplateStep[] = [];
    while (!this.#take('}')) {
      if (this.#take('[?(')) steps.push(this.#filter());
      else if (this.#take('..')) this.#descent(steps);
      else steps.push(...this.#step());
    }
    return steps;
  }

  #step(): TemplateStep[] {
    const character = this.#input[this.#at];
    if (character === undefined || /[\r\n]/.test(character)) throw new JsonPathError('unclosed action');
    // No steps: a path starts at the current object, which is the root outside of filters.
    if (this.#take(' ') || this.#take('@') || this.#take('$')) return [];
    if (this.#take('[')) return this.#brackets();
    if (character === '"' || character === "'") return [{ kind: 'text', text: this.#quoted(character) }];
    if (this.#take('.')) return [this.#field()];
    if (/[-+\p{Nd}]/u.test(character)) return [this.#number()];
    if (WORD_START.test(character)) return [this.#word()];
    throw new JsonPathError(`unrecognized character in action: ${unicodeName(this.#input, this.#at)}`);
  }

  #descent(steps: TemplateStep[]): void {
    if (steps.at(-1)?.kind === 'descent') throw new JsonPathError('invalid multiple recursive descent');
    steps.push({ kind: 'descent' });
    if (WORD_START.test(this.#input[this.#at] ?? '')) steps.push(this.#field());
  }

  /** Reads up to a character that ends a name; a backslash escapes the next character. */
  #field(): TemplateStep {
    const start = this.#at;
    while (this.#at < this.#input.length && !FIELD_END.test(this.#input[this.#at] ?? '')) {
      this.#at += this.#input[this.#at] === '\\' ? 2 : 1;
    }
    const name = this.#input.slice(start, this.#at);
    return name === '*' ? { kind: 'wildcard' } : { kind: 'field', name: name.replaceAll('\\', '') };
  }

  #number(): TemplateStep {
    const text = this.#match(/[-+]?[\d.]*/y);
    if (!/^[-+]?(\d+(\.\d*)?|\.\d+)$/.test(text)) throw new JsonPathError(`cannot parse number ${text}`);
    return { kind: 'literal', value: Number(text), isFloat: text.includes('.') };
  }

  #word(): TemplateStep {
    const word = this.#match(/[^ \t\r\n.,[\]$@{}]+/y);
    const isBoolean = word === 'true' || word === 'false';
    return isBoolean ? { kind: 'literal', value: word === 'true', isFloat: false } : { kind: 'word', word };
  }

  #quoted(quote: string): string {
    const start = this.#at;
    for (this.#at++; this.#input[this.#at] !== quote || this.#input[this.#at - 1] === '\\'; this.#at++) {
      if (this.#isLineEnd()) throw new JsonPathError('unterminated quoted string');
    }
    this.#at++;
    return unquote(this.#input.slice(start, this.#at));
  }

  /** An index, a slice, a key in single quotes, or several of these. */
  #brackets(): TemplateStep[] {
    const start = this.#at;
    while (this.#input[this.#at] !== ']') {
      if (this.#isLineEnd()) throw new JsonPathError('unterminated array');
      this.#at++;
    }
    const text = this.#input.slice(start, this.#at++);
    if (text === '*') return [{ kind: 'slice', start: undefined, end: { kind: 'open' }, step: undefined }];
    if (text.includes(',')) {
      const branches = text.split(',').map(part => parseAction(`[${withoutSpaces(part)}]`));
      return [{ kind: 'union', branches }];
    }
    const key = /^'([^']*)'$/.exec(text)?.[1];
    return key === undefined ? [parseSlice(text)] : parseAction(`.${key}`);
  }

  #filter(): TemplateStep {
    const start = this.#at;
    let quote: string | undefined;
    let isClosed = false;
    for (; ; this.#at++) {
      if (this.#isLineEnd()) throw new JsonPathError('unterminated filter');
      const character = this.#input[this.#at];
      if (character === '"' || character === "'") {
        if (quote === undefined) quote = character;
        else if (character === quote && this.#input[this.#at - 1] !== '\\') isClosed = true;
      }
      if (character === ')' && (quote === undefined || isClosed)) break;
    }
    const text = this.#input.slice(start, this.#at++);
    if (!this.#take(']')) throw new JsonPathError('unclosed array expect ]');
    const [, left, operator, right] = COMPARISON.exec(text) ?? [];
    if (left === undefined || operator === undefined || right === undefined) {
      return { kind: 'filter', left: parseAction(text), operator: 'exists', right: [] };
    }
    return { kind: 'filter', left: parseAction(left), operator, right: parseAction(right) };
  }

  #take(text: string): boolean {
    if (!this.#input.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #until(character: string): string {
    const found = this.#input.indexOf(character, this.#at);
    const end = found < 0 ? this.#input.length : found;
    const text = this.#input.slice(this.#at, end);
    this.#at = end;
    return text;
  }

  /** @param pattern must be sticky */
  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [text = ''] = pattern.exec(this.#input) ?? [];
    this.#at += text.length;
    return text;
  }

  #isLineEnd(): boolean {
    return this.#at >= this.#input.length || this.#input[this.#at] === '\n';
  }
}

/** Trims spaces only, no other whitespace. */
function withoutSpaces(text: string): string {
  let [start, end] = [0, text.length];
  while (text[start] === ' ') start++;
  while (end > start && text[end - 1] === ' ') end--;
  return text.slice(start, end);
}

function parseSlice(text: string): TemplateStep {
  const found = SLICE.exec(text);
  if (found === null) throw new JsonPathError(`invalid array index ${text}`);
  const [, first = '', second, third] = found;
  const start = index(first);
  const step = third === undefined ? undefined : index(third.slice(1));
  return { kind: 'slice', start, end: sliceEnd(second), step };
}

function sliceEnd(text: string | undefined): SliceEnd {
  if (text === undefined) return { kind: 'after start' };
  const found = index(text.slice(1));
  return found === undefined ? { kind: 'open' } : { kind: 'index', index: found };
}

function index(text: string): number | undefined {
  if (text === '') return undefined;
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new JsonPathError(`array index ${text} is not a number`);
  return value;
}

/** `U+0026 '&'` */
function unicodeName(text: string, at: number): string {
  const code = text.codePointAt(at) ?? 0;
  const name = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  const character = String.fromCodePoint(code);
  return /[\p{L}\p{M}\p{N}\p{P}\p{S}]/u.test(character) ? `${name} '${character}'` : name;
}

// Quoted text in a template, in double or single quotes, with Go's escapes.

const SIMPLE: Readonly<Record<string, number>> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11, '\\': 92 };

/** Numeric escapes; isCharacter: a code point, otherwise a byte. */
const NUMBERED: Readonly<Record<string, { digits: RegExp; base: number; isCharacter: boolean }>> = {
  x: { digits: /^x([0-9a-f]{2})/i, base: 16, isCharacter: false },
  u: { digits: /^u([0-9a-f]{4})/i, base: 16, isCharacter: true },
  U: { digits: /^U([0-9a-f]{8})/i, base: 16, isCharacter: true },
  octal: { digits: /^([0-7]{3})/, base: 8, isCharacter: false },
};

/** @param quoted includes the quotes @throws JsonPathError */
function unquote(quoted: string): string {
  const quote = quoted[0];
  const inner = quoted.slice(1, -1);
  if (!inner.includes('\\')) return inner;
  const wrong = new JsonPathError(`unquote string ${quoted} error invalid syntax`);
  // Collects bytes, because "\xc3\xa4" is one character.
  const parts: Uint8Array[] = [];
  const utf8 = new TextEncoder();
  for (let at = 0; at < inner.length; ) {
    const slash = inner.indexOf('\\', at);
    const plain = inner.slice(at, slash < 0 ? inner.length : slash);
    // An unescaped quote, since the backslash before it was escaped.
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

/** @param rest the text after the backslash */
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

// The relaxed paths of `--sort-by` and custom columns: braces and the first dot are optional.

/** `metadata.name`, `.metadata.name`, `{metadata.name}` and `{.metadata.name}` are equivalent. @throws JsonPathError */
export function relaxedTemplate(path: string): Template {
  return parseTemplate(relaxedPath(path));
}

/** Adds braces and dot to the path; '' stays ''. @throws JsonPathError */
export function relaxedPath(path: string): string {
  if (path === '') return '';
  const inner = /^\{\.?([^{}]+)\}$|^\.?([^{}]+)$/.exec(path);
  if (inner !== null) return `{.${inner[1] ?? inner[2]}}`;
  throw new JsonPathError(
    "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'",
  );
}
