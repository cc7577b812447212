/** `wait --for=jsonpath=PATH[=VALUE]` with the rules of kubectl wait. */
import { NodepoolError } from '../../nodepool/errors.ts';
import { evaluate, goText } from '../../print/jsonpath/evaluate.ts';
import { parseTemplate, relaxedPath } from '../../print/jsonpath/parse.ts';
import { explainFor, JsonPathError } from '../../print/jsonpath/template.ts';

const FLAG = '--for=jsonpath';
const FORM = "for example: --for=jsonpath='{.status.nodeCount}'=3; without a value, any value matches";

/** Whether the object has that value, or any, at the path. Throws for several values, an object or a list. */
export function jsonPathCondition(expression: string) {
  const [path = '', value, ...others] = splitAtEquals(expression);
  const expected = value?.replace(/^['"]+|['"]+$/g, '').trim();
  if (path === '' || expected === '' || others.length > 0) throw usage(`"${expression}" is not PATH or PATH=VALUE`);
  const template = parse(path);
  const readValue = (object: object) =>
    explainFor(FLAG, 'correct the path', () => only(evaluate(template, object), expected));
  return {
    matches(object: object): boolean {
      const value = readValue(object);
      return value !== undefined && (expected === undefined || value === expected);
    },
    current: (object: object): string => `${path} is ${readValue(object) ?? 'not set'}`,
  };
}

function parse(path: string) {
  try {
    return parseTemplate(relaxedPath(path));
  } catch (error) {
    if (error instanceof JsonPathError) throw usage(error.message);
    throw error;
  }
}

/** An object or a list is only allowed if any value will do. */
function only([values = [], ...others]: unknown[][], expected: string | undefined): string | undefined {
  if (values.length === 0) return undefined;
  if (others.length > 0) throw new JsonPathError('given jsonpath expression matches more than one list');
  if (values.length > 1) throw new JsonPathError('given jsonpath expression matches more than one value');
  const [value] = values;
  if (expected === undefined) return '';
  if (typeof value === 'object' && value !== null) {
    throw new JsonPathError('jsonpath leads to a nested object or list which is not supported');
  }
  return goText(value).trim();
}

/** Splits at each single `=`; `==` belongs to a filter. */
function splitAtEquals(text: string): string[] {
  const parts = [''];
  for (const token of text.match(/==|=|[^=]+/g) ?? []) {
    if (token === '=') parts.push('');
    else parts.push(`${parts.pop()}${token}`);
  }
  return parts;
}

function usage(problem: string): NodepoolError {
  return new NodepoolError('usage', `${FLAG}: ${problem}`, FORM);
}
