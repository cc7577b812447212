/** The comparisons of a filter: like with like. Integers and floats are not alike, as in Go's templates. */
import { JsonPathError } from './template.ts';

type Kind = 'string' | 'bool' | 'int' | 'float';

/** One side: a value, and whether it was written with a point. */
export interface Operand {
  value: unknown;
  isFloat: boolean;
}

/** @throws JsonPathError for what does not compare, or an operator that is none */
export function compare(left: Operand, operator: string, right: Operand): boolean {
  const [a, b] = [left.value, right.value];
  switch (operator) {
    case '==':
    case '!=':
      sameKind(left, right);
      return (a === b) === (operator === '==');
    case '<':
    case '<=':
    case '>':
    case '>=':
      if (sameKind(left, right) === 'bool') throw new JsonPathError('invalid type for comparison');
      return isOrdered(a as string | number, operator, b as string | number);
    default:
      throw new JsonPathError(`unrecognized filter operator ${operator}`);
  }
}

function isOrdered<T extends string | number>(a: T, operator: '<' | '<=' | '>' | '>=', b: T): boolean {
  if (operator === '<') return a < b;
  if (operator === '<=') return a <= b;
  return operator === '>' ? a > b : a >= b;
}

function sameKind(left: Operand, right: Operand): Kind {
  const kinds = [kindOf(left), kindOf(right)] as const;
  if (kinds[0] !== kinds[1]) throw new JsonPathError('incompatible types for comparison');
  return kinds[0];
}

function kindOf({ value, isFloat }: Operand): Kind {
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return isFloat || !Number.isInteger(value) ? 'float' : 'int';
  throw new JsonPathError('invalid type for comparison');
}
