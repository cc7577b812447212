/** Parses a label selector as the API server does (k8s.io/apimachinery/pkg/labels), to filter on the client. */
import { NodepoolError } from './errors.ts';
import { parseInt64 } from './int64.ts';
import { own } from './json.ts';
import { keyProblem, valueProblem } from './syntax.ts';

export type MatchLabels = (labels: Readonly<Record<string, string>>) => boolean;
type MatchValue = (value: string | undefined) => boolean;

const TOKEN = /==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+/g;
const WORD = /^[^=!(),<>]/;

/** The match function of a selector. An empty selector matches all. @throws NodepoolError `input` */
export function parseLabelSelector(selector: string): MatchLabels {
  const tokens = new Tokens(selector.match(TOKEN) ?? []);
  if (tokens.peek() === undefined) return () => true;
  const all = [requirement(tokens)];
  while (tokens.peek() !== undefined) {
    tokens.expect(',');
    all.push(requirement(tokens));
  }
  return labels => all.every(({ key, matches }) => matches(own(labels, key)));
}

class Tokens {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  peek(): string | undefined {
    return this.#tokens[this.#at];
  }

  next(): string | undefined {
    return this.#tokens[this.#at++];
  }

  /** The next token if it is a word, not an operator. */
  word(): string | undefined {
    return WORD.test(this.peek() ?? '') ? this.next() : undefined;
  }

  expect(sign: string): void {
    const found = this.next();
    if (found !== sign) throw invalid(`found ${found === undefined ? 'its end' : `"${found}"`}, expected "${sign}"`);
  }
}

function requirement(tokens: Tokens): { key: string; matches: MatchValue } {
  const isAbsent = tokens.peek() === '!';
  if (isAbsent) tokens.next();
  const key = tokens.word();
  if (key === undefined) throw invalid(`found ${tokens.peek() ?? 'its end'}, expected a key`);
  check(keyProblem(key));
  if (isAbsent) return { key, matches: value => value === undefined };
  if (tokens.peek() === undefined || tokens.peek() === ',') return { key, matches: value => value !== undefined };
  return { key, matches: comparison(tokens) };
}

function comparison(tokens: Tokens): MatchValue {
  const operator = tokens.next();
  switch (operator) {
    case '=':
    case '==':
      return isIn([readValue(tokens)]);
    case '!=':
      return not(isIn([readValue(tokens)]));
    case 'in':
      return isIn(readValues(tokens));
    case 'notin':
      return not(isIn(readValues(tokens)));
    case '>':
    case '<': {
      const bound = readValue(tokens);
      const limit = parseInt64(bound);
      if (limit === undefined) throw invalid(`"${bound}" after ${operator} is no integer`);
      const compare = operator === '>' ? (a: bigint, b: bigint) => a > b : (a: bigint, b: bigint) => a < b;
      return value => {
        const number = parseInt64(value ?? '');
        return number !== undefined && compare(number, limit);
      };
    }
    default:
      throw invalid(`found "${operator}", expected one of , = == != in notin > <`);
  }
}

/** A missing value is "": `a=` matches the label with an empty value. */
function readValue(tokens: Tokens): string {
  const value = tokens.word() ?? '';
  check(valueProblem(value));
  return value;
}

function readValues(tokens: Tokens): string[] {
  tokens.expect('(');
  const values = [readValue(tokens)];
  while (tokens.peek() === ',') {
    tokens.next();
    values.push(readValue(tokens));
  }
  tokens.expect(')');
  return values;
}

function isIn(values: readonly string[]): MatchValue {
  const wanted = new Set(values);
  return value => value !== undefined && wanted.has(value);
}

function not(matches: MatchValue): MatchValue {
  return value => !matches(value);
}

function check(problem: string | undefined): void {
  if (problem !== undefined) throw invalid(problem);
}

function invalid(problem: string): NodepoolError {
  return new NodepoolError('input', `cannot read the selector: ${problem}`);
}
