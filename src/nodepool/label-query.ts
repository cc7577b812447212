/** Matches labels by a meta/v1 LabelSelector, as apimachinery does. */
import { own } from './json.ts';

/** meta/v1 LabelSelector, as in PodDisruptionBudgets. */
export interface LabelQuery {
  matchLabels?: Record<string, string>;
  matchExpressions?: Requirement[];
}

export interface Requirement {
  key: string;
  operator: string;
  values?: string[];
}

/** An empty selector matches everything. A missing selector, or an unknown operator, matches nothing. */
export function matchesQuery(query: LabelQuery | undefined, labels: Record<string, string>): boolean {
  if (query === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = query;
  const equal = Object.entries(matchLabels).every(([key, value]) => own(labels, key) === value);
  return equal && matchExpressions.every(requirement => meets(requirement, own(labels, requirement.key)));
}

/** @param value of the label or field; undefined: it has none */
export function meets({ operator, values = [] }: Requirement, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return false;
  }
}
