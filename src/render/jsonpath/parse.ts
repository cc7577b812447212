/** Parses a template; accepts and refuses what kubectl does. */
import { checkTemplateLength, JsonPathError, type Part, type SliceEnd, type Step, type Template } from './template.ts';
import { unquote } from './unquote.ts';

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

/** Parses text as if it were between braces. */
function parseAction(text: string): Step[] {
  const [first] = parseTemplate(`{${text}}`);
  return first?.kind === 'action' ? first.steps : [];
}

class Parser {
  readonly #input: string;
  #at = 0;

  constructor(input: string) {
    this.#input = input;
  }

  template(): Part[] {
    const parts: Part[] = [];
    while (this.#at < this.#input.length) {
      const text = this.#until('{');
      if (text !== '') parts.push({ kind: 'text', text });
      if (this.#take('{')) parts.push({ kind: 'action', steps: this.#action() });
    }
    return parts;
  }

  #action(): Step[] {
    const steps: Step[] = [];
    while (!this.#take('}')) {
      if (this.#take('[?(')) steps.push(this.#filter());
      else if (this.#take('..')) this.#descent(steps);
      else steps.push(...this.#step());
    }
    return steps;
  }

  #step(): Step[] {
    const character = this.#input[this.#at];
    if (character === undefined || /[\r\n]/.test(character)) throw new JsonPathError('unclosed action');
    // No steps: a path begins at the current object, which in a template is the root.
    if (this.#take(' ') || this.#take('@') || this.#take('$')) return [];
    if (this.#take('[')) return this.#brackets();
    if (character === '"' || character === "'") return [{ kind: 'text', text: this.#quoted(character) }];
    if (this.#take('.')) return [this.#field()];
    if (/[-+\p{Nd}]/u.test(character)) return [this.#number()];
    if (WORD_START.test(character)) return [this.#word()];
    throw new JsonPathError(`unrecognized character in action: ${unicodeName(this.#input, this.#at)}`);
  }

  #descent(steps: Step[]): void {
    if (steps.at(-1)?.kind === 'descent') throw new JsonPathError('invalid multiple recursive descent');
    steps.push({ kind: 'descent' });
    if (WORD_START.test(this.#input[this.#at] ?? '')) steps.push(this.#field());
  }

  /** Up to a character that ends a name; a backslash escapes the next one. */
  #field(): Step {
    const start = this.#at;
    while (this.#at < this.#input.length && !FIELD_END.test(this.#input[this.#at] ?? '')) {
      this.#at += this.#input[this.#at] === '\\' ? 2 : 1;
    }
    const name = this.#input.slice(start, this.#at);
    return name === '*' ? { kind: 'wildcard' } : { kind: 'field', name: name.replaceAll('\\', '') };
  }

  #number(): Step {
    const text = this.#match(/[-+]?[\d.]*/y);
    if (!/^[-+]?(\d+(\.\d*)?|\.\d+)$/.test(text)) throw new JsonPathError(`cannot parse number ${text}`);
    return { kind: 'literal', value: Number(text), isFloat: text.includes('.') };
  }

  #word(): Step {
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
  #brackets(): Step[] {
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

  #filter(): Step {
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

  /** @param pattern sticky */
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

function parseSlice(text: string): Step {
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
