/** The comparisons of a filter, of values of the same type. As in Go's templates, integer and float are different types. */
import { JsonPathError } from './template.ts';

type Kind = 'string' | 'bool' | 'int' | 'float';

/** One side of a comparison; isFloat: a literal with a decimal point. */
export interface Operand {
  value: unknown;
  isFloat: boolean;
}

/** @throws JsonPathError for values that cannot be compared, or an unknown operator */
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
