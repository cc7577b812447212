/** Matches labels by a meta/v1 LabelSelector (as apimachinery) or by node requirements (as the scheduler). */
import { ownValue, parseInt64 } from '../json.ts';

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

/** An empty selector matches everything. A missing selector and an unknown operator match nothing. */
export function matchesQuery(query: LabelQuery | undefined, labels: Record<string, string>): boolean {
  if (query === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = query;
  const equal = Object.entries(matchLabels).every(([key, value]) => ownValue(labels, key) === value);
  return equal && matchExpressions.every(requirement => meets(requirement, ownValue(labels, requirement.key)));
}

/** @param value of the label or field; undefined if absent */
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

/** As meetsNode(), with the values parsed once for many nodes. */
export function compileRequirement(requirement: Requirement): (value: string | undefined) => boolean {
  const { operator, values = [] } = requirement;
  switch (operator) {
    case 'In':
    case 'NotIn': {
      const set = new Set(values);
      const isIn = operator === 'In';
      return value => (value !== undefined && set.has(value)) === isIn;
    }
    case 'Gt':
    case 'Lt': {
      const bound = parseInt64(values[0] ?? '');
      if (bound === undefined) return () => false;
      return value => {
        const label = integerOf(value);
        return label !== undefined && (operator === 'Gt' ? label > bound : label < bound);
      };
    }
    default:
      return value => meets(requirement, value);
  }
}

/** A number if it is exact, because a bigint is slower. */
function integerOf(value = ''): bigint | number | undefined {
  return /^\d{1,15}$/.test(value) ? Number(value) : parseInt64(value);
}

/** As meets(), plus integer comparison of labels, as in node affinity (k8s.io/component-helpers nodeaffinity). */
export function meetsNode(requirement: Requirement, value: string | undefined): boolean {
  const { operator, values = [] } = requirement;
  if (operator !== 'Gt' && operator !== 'Lt') return meets(requirement, value);
  const [label, bound] = [parseInt64(value ?? ''), parseInt64(values[0] ?? '')];
  if (label === undefined || bound === undefined) return false;
  return operator === 'Gt' ? label > bound : label < bound;
}
