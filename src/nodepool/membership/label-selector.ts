/** Parses a label selector as the API server does (k8s.io/apimachinery/pkg/labels), to filter on the client. */
import { NodepoolError } from '../errors.ts';
import { ownValue, parseInt64 } from '../json.ts';
import { keyProblem, valueProblem } from '../spec/syntax.ts';
import { meetsNode } from './label-query.ts';

export type MatchLabels = (labels: Readonly<Record<string, string>>) => boolean;
type MatchValue = (value: string | undefined) => boolean;

/** One part of a selector. `Equals` is `a=b`; `Remove` is `a-`, if allowed. */
export interface SelectorTerm {
  key: string;
  operator: 'Equals' | 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt' | 'Remove';
  values: string[];
}

const TOKEN = /==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+/g;
const WORD = /^[^=!(),<>]/;

/** The match function of a selector. An empty selector matches all. @throws NodepoolError `input` */
export function parseLabelSelector(selector: string): MatchLabels {
  const all = parseTerms(selector).map(term => ({ key: term.key, matches: matcher(term) }));
  return labels => all.every(({ key, matches }) => matches(ownValue(labels, key)));
}

/** The parts of a selector; all must match. @throws NodepoolError `input` */
export function parseTerms(selector: string, mayRemove = false): SelectorTerm[] {
  const tokens = new Tokens(selector.match(TOKEN) ?? []);
  if (tokens.peek() === undefined) return [];
  const all = [term(tokens, mayRemove)];
  while (tokens.peek() !== undefined) {
    tokens.expect(',');
    all.push(term(tokens, mayRemove));
  }
  return all;
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

function term(tokens: Tokens, mayRemove: boolean): SelectorTerm {
  const isAbsent = tokens.peek() === '!';
  if (isAbsent) tokens.next();
  const key = tokens.word();
  if (key === undefined) throw invalid(`found ${tokens.peek() ?? 'its end'}, expected a key`);
  const isAlone = tokens.peek() === undefined || tokens.peek() === ',';
  if (mayRemove && !isAbsent && isAlone && key.endsWith('-')) {
    check(keyProblem(key.slice(0, -1)));
    return { key: key.slice(0, -1), operator: 'Remove', values: [] };
  }
  check(keyProblem(key));
  if (isAbsent) return { key, operator: 'DoesNotExist', values: [] };
  return isAlone ? { key, operator: 'Exists', values: [] } : { key, ...comparison(tokens) };
}

function comparison(tokens: Tokens): Omit<SelectorTerm, 'key'> {
  const operator = tokens.next();
  switch (operator) {
    case '=':
    case '==':
      return { operator: 'Equals', values: [readValue(tokens)] };
    case '!=':
      return { operator: 'NotIn', values: [readValue(tokens)] };
    case 'in':
      return { operator: 'In', values: readValues(tokens) };
    case 'notin':
      return { operator: 'NotIn', values: readValues(tokens) };
    case '>':
    case '<': {
      const bound = readValue(tokens);
      if (parseInt64(bound) === undefined) throw invalid(`"${bound}" after ${operator} is not an integer`);
      return { operator: operator === '>' ? 'Gt' : 'Lt', values: [bound] };
    }
    default:
      throw invalid(`found "${operator}", expected one of , = == != in notin > <`);
  }
}

function matcher(term: SelectorTerm): MatchValue {
  switch (term.operator) {
    case 'Equals':
    case 'In':
      return isIn(term.values);
    case 'NotIn':
      return not(isIn(term.values));
    default:
      return value => meetsNode(term, value);
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
