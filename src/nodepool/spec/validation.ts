/**
 * The rules for pools that the CRD (manifests/nodepools.nodes.lailin.xyz.yaml) enforces on the server. They are
 * repeated here so that the CLI reports errors before it sends anything, and so that the reconciler handles pools that
 * are older than the rules. test/e2e/crd-validation.test.ts compares the two. isSelectorKnown() uses the same rules to
 * decide whether the members of a pool are known.
 */
import { parseInt64 } from '../json.ts';
import type { Requirement } from '../membership/label-query.ts';
import { hasDefaultSelector, keysOf, membershipSelector, OPERATORS, ROLE_PREFIX } from '../membership/selector.ts';
import { transientKeysErrors } from '../plan/transient-states.ts';
import { type NodePool, POOL_LABEL, type RolloutStrategy } from '../types.ts';
import {
  annotationBytes,
  isRefusedAnnotation,
  isTooLong,
  MAX_ANNOTATION_BYTES,
  MAX_ANNOTATIONS,
} from './annotations.ts';
import type { FieldError } from './field-error.ts';
import { dnsLabelProblem, keyProblem, poolNameProblem, valueProblem } from './syntax.ts';
import { startupTaintErrors, taintErrors } from './taints.ts';

/** With keys and values of maximum length, a node's record takes 155 KiB of the 256 KiB for annotations. */
export const MAX_LABELS = 100;
const MAX_SELECTOR_LABELS = 20;
const MAX_EXPRESSIONS = 20;
const MAX_VALUES = 100;

/** The kubelet or a cloud's node controller sets these, and would set them again. */
const CLUSTER_LABELS = [
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'node.kubernetes.io/instance-type',
  'node.kubernetes.io/windows-build',
];
const CLUSTER_LABEL_PREFIXES = ['beta.kubernetes.io/', 'failure-domain.beta.kubernetes.io/'];

/** The default selector of these pools is the label that kubeadm gives to control-plane nodes. */
const RESERVED_NAMES = ['control-plane', 'master'];

/** All errors of the pool's name and spec, in the order of the fields. */
export function validatePool(pool: NodePool): FieldError[] {
  // The rules cannot be applied to an incomplete spec.
  if (pool.unreadable !== undefined) return pool.unreadable;
  return [
    ...nameErrors(pool),
    ...labelErrors(pool),
    ...taintErrors(pool),
    ...selectorErrors(pool),
    ...expressionErrors(pool),
    ...otherErrors(pool),
    ...annotationErrors(pool),
    ...startupTaintErrors(pool),
    ...rolloutErrors(pool),
    ...transientKeysErrors(pool),
  ];
}

/** Whether the kubelet or a cloud's node controller sets the label, and would set it again. */
export function isClusterLabel(key: string): boolean {
  return CLUSTER_LABELS.includes(key) || CLUSTER_LABEL_PREFIXES.some(prefix => key.startsWith(prefix));
}

function nameErrors({ metadata: { name }, spec }: NodePool): FieldError[] {
  const field = 'metadata.name';
  const problem = poolNameProblem(name);
  if (problem !== undefined) return [{ field, message: problem, next: 'use another name' }];
  if (!RESERVED_NAMES.includes(name) || !hasDefaultSelector(spec)) return [];
  return [
    {
      field,
      message: `"${name}" is reserved: by default this pool would select the control-plane nodes`,
      next: 'use another name, or say which nodes belong in spec.nodeSelector or spec.matchExpressions',
    },
  ];
}

function labelErrors(pool: NodePool): FieldError[] {
  const labels = pool.spec.labels ?? {};
  const errors: FieldError[] = [];
  for (const key in labels) checkPair(errors, 'spec.labels', key, labels[key] ?? '');
  if (Object.keys(labels).length > MAX_LABELS) {
    errors.push({ field: 'spec.labels', message: `more than ${MAX_LABELS} labels` });
  }
  const membership = keysOf(membershipSelector(pool));
  for (const key in labels) {
    if (isClusterLabel(key)) {
      const message = 'the cluster itself sets this label';
      errors.push({ field: `spec.labels[${key}]`, message, next: 'remove the label from spec.labels' });
    } else if (key === POOL_LABEL) {
      errors.push(reserved(`spec.labels[${key}]`));
    } else if (membership.includes(key) || key === `${ROLE_PREFIX}${pool.metadata.name}`) {
      errors.push({
        field: `spec.labels[${key}]`,
        message: 'this label decides which nodes belong to the pool, so the pool cannot set it',
        next: 'remove the label from spec.labels, and label the nodes yourself',
      });
    }
  }
  return errors;
}

function selectorErrors({ spec: { nodeSelector } }: NodePool): FieldError[] {
  if (nodeSelector === undefined) return [];
  const field = 'spec.nodeSelector';
  const pairs = Object.entries(nodeSelector);
  if (pairs.length === 0) {
    return [
      {
        field,
        message: 'an empty selector selects no nodes',
        next: 'set at least one label, or leave out nodeSelector for the default',
      },
    ];
  }
  const errors: FieldError[] = [];
  for (const [key, value] of pairs) {
    checkPair(errors, field, key, value);
    if (key === POOL_LABEL) errors.push(reserved(`${field}[${key}]`));
  }
  if (pairs.length > MAX_SELECTOR_LABELS) errors.push({ field, message: `more than ${MAX_SELECTOR_LABELS} labels` });
  return errors;
}

function expressionErrors({ spec: { matchExpressions } }: NodePool): FieldError[] {
  if (matchExpressions === undefined) return [];
  const field = 'spec.matchExpressions';
  if (matchExpressions.length === 0) {
    return [
      { field, message: 'an empty list selects no nodes', next: 'set at least one expression, or leave out the list' },
    ];
  }
  const errors = matchExpressions.flatMap((expression, index) => oneExpressionErrors(`${field}[${index}]`, expression));
  if (matchExpressions.length > MAX_EXPRESSIONS) {
    errors.push({ field, message: `more than ${MAX_EXPRESSIONS} expressions` });
  }
  return errors;
}

/** The rules of node affinity, with values that a label can have. */
function oneExpressionErrors(field: string, { key, operator, values = [] }: Requirement): FieldError[] {
  const errors: FieldError[] = [];
  push(errors, `${field}.key`, keyProblem(key));
  if (key === POOL_LABEL) errors.push(reserved(`${field}.key`));
  if (!OPERATORS.includes(operator)) {
    push(errors, `${field}.operator`, `${JSON.stringify(operator)} must be one of ${OPERATORS.join(', ')}`);
    return errors;
  }
  for (const [index, value] of values.entries()) push(errors, `${field}.values[${index}]`, valueProblem(value));
  push(errors, `${field}.values`, valuesProblem(operator, values));
  return errors;
}

function valuesProblem(operator: string, values: readonly string[]): string | undefined {
  if (values.length > MAX_VALUES) return `more than ${MAX_VALUES} values`;
  switch (operator) {
    case 'In':
    case 'NotIn':
      return values.length === 0 ? `${operator} needs at least one value` : undefined;
    case 'Gt':
    case 'Lt':
      return values.length === 1 && isInteger(values[0] ?? '') ? undefined : `${operator} takes exactly one integer`;
    default:
      return values.length === 0 ? undefined : `${operator} takes no values`;
  }
}

/** An int64 that is a valid label value: without a sign. */
function isInteger(value: string): boolean {
  return /^\d+$/.test(value) && parseInt64(value) !== undefined;
}

function reserved(field: string): FieldError {
  return { field, message: `kubectl-nodepool itself sets the label ${POOL_LABEL}`, next: 'use another key' };
}

function otherErrors({ spec: { handler = '', unmanaged, noExecute } }: NodePool): FieldError[] {
  const errors: FieldError[] = [];
  // The Go type of the API represents an unset handler as "".
  if (handler !== '') push(errors, 'spec.handler', dnsLabelProblem(handler));
  if (unmanaged !== undefined && unmanaged !== 'Keep' && unmanaged !== 'Remove') {
    push(errors, 'spec.unmanaged', `${JSON.stringify(unmanaged)} must be Keep or Remove`);
  }
  if (noExecute !== undefined && noExecute !== 'Immediate' && noExecute !== 'Drain') {
    push(errors, 'spec.noExecute', `${JSON.stringify(noExecute)} must be Immediate or Drain`);
  }
  return errors;
}

function annotationErrors({ spec: { annotations } }: NodePool): FieldError[] {
  if (annotations === undefined) return [];
  const field = 'spec.annotations';
  const pairs = Object.entries(annotations);
  const errors: FieldError[] = [];
  for (const [key, value] of pairs) {
    push(errors, `${field}[${key}]`, keyProblem(key));
    if (isTooLong(value)) {
      errors.push({ field: `${field}[${key}]`, message: `longer than ${MAX_ANNOTATION_BYTES} characters` });
    }
    if (isRefusedAnnotation(key)) {
      const message = 'the cluster or kubectl-nodepool sets this annotation';
      errors.push({ field: `${field}[${key}]`, message, next: `remove the annotation from ${field}` });
    }
  }
  if (pairs.length > MAX_ANNOTATIONS) errors.push({ field, message: `more than ${MAX_ANNOTATIONS} annotations` });
  const bytes = annotationBytes(annotations);
  if (bytes > MAX_ANNOTATION_BYTES && !pairs.some(([, value]) => isTooLong(value))) {
    const message = `keys and values have ${bytes} bytes together; the limit is ${MAX_ANNOTATION_BYTES}`;
    errors.push({ field, message });
  }
  return errors;
}

function checkPair(errors: FieldError[], map: string, key: string, value: string): void {
  for (const message of [keyProblem(key), valueProblem(value)]) {
    if (message !== undefined) errors.push({ field: `${map}[${key}]`, message });
  }
}

function push(errors: FieldError[], field: string, message: string | undefined): void {
  if (message !== undefined) errors.push({ field, message });
}

// The rules for spec.rollout, as in the CRD.

export const MAX_SETTLE_SECONDS = 86_400;
const MAX_COUNT = 1_000_000;

function rolloutErrors({ spec: { rollout } }: NodePool): FieldError[] {
  if (rollout === undefined) return [];
  const { maxConcurrent, canary, settleSeconds }: RolloutStrategy = rollout;
  const errors: FieldError[] = [];
  const check = (field: keyof RolloutStrategy, problem: string | undefined) => {
    if (problem !== undefined) errors.push({ field: `spec.rollout.${field}`, message: problem });
  };
  check('maxConcurrent', countProblem(maxConcurrent, 1));
  check('canary', countProblem(canary, 0));
  if (settleSeconds !== undefined && (settleSeconds < 0 || settleSeconds > MAX_SETTLE_SECONDS)) {
    check('settleSeconds', `must be from 0 to ${MAX_SETTLE_SECONDS}`);
  }
  return errors;
}

/** A number of nodes, or a percentage of the members. */
export function countProblem(value: number | string | undefined, least: 0 | 1): string | undefined {
  if (value === undefined) return undefined;
  const isCount = typeof value === 'number' && Number.isInteger(value) && value >= least && value <= MAX_COUNT;
  const isPercentage = typeof value === 'string' && /^([1-9]?\d|100)%$/.test(value) && (least === 0 || value !== '0%');
  if (isCount || isPercentage) return undefined;
  return `${JSON.stringify(value)} must be a number from ${least} to ${MAX_COUNT} or a percentage from ${least}% to 100%`;
}

// Whether the members of a pool are known.

/** False if a part is unreadable or invalid: a mistake must not release nodes. @param errors of validatePool() */
export function isSelectorKnown(pool: NodePool, errors: readonly FieldError[] = validatePool(pool)): boolean {
  return !errors.some(({ field }) => field === 'spec' || /^spec\.(nodeSelector|matchExpressions)/.test(field));
}
