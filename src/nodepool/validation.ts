/**
 * The rules for pools that the CRD (manifests/nodepools.nodes.lailin.xyz.yaml) enforces on the server. They are
 * repeated here so that the CLI reports errors before it sends anything, and so that the reconciler handles pools that
 * are older than the rules. test/e2e/crd-validation.test.ts compares the two.
 */
import type { FieldError } from './field-error.ts';
import { membershipSelector, ROLE_PREFIX } from './selector.ts';
import { dnsLabelProblem, effectProblem, keyProblem, poolNameProblem, valueProblem } from './syntax.ts';
import { taintId } from './taint.ts';
import type { NodePool, Taint } from './types.ts';

/** With keys and values of maximum length, a node's record takes 155 KiB of the 256 KiB for annotations. */
export const MAX_LABELS = 100;
export const MAX_TAINTS = 100;
const MAX_SELECTOR_LABELS = 20;

/** The kubelet or a cloud's node controller sets these and would set them again. */
const CLUSTER_LABELS = [
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'node.kubernetes.io/instance-type',
  'node.kubernetes.io/windows-build',
];
const CLUSTER_LABEL_PREFIXES = ['beta.kubernetes.io/', 'failure-domain.beta.kubernetes.io/'];

/** The node lifecycle controller, cloud controllers and others set and remove these. */
const CLUSTER_TAINT_PREFIXES = ['node.kubernetes.io/', 'node.cloudprovider.kubernetes.io/'];
/** The only one of them that people set by hand. */
const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

/** The default selector of these pools is the label that kubeadm gives to control-plane nodes. */
const RESERVED_NAMES = ['control-plane', 'master'];

/** All errors of the pool's name and spec, in the order of the fields. */
export function validatePool(pool: NodePool): FieldError[] {
  // The rules cannot judge a spec of which parts were left out.
  if (pool.unreadable !== undefined) return pool.unreadable;
  return [
    ...nameErrors(pool),
    ...labelErrors(pool),
    ...taintErrors(pool),
    ...selectorErrors(pool),
    ...otherErrors(pool),
  ];
}

/** Whether the kubelet or a cloud's node controller sets the label, and would set it again. */
export function isClusterLabel(key: string): boolean {
  return CLUSTER_LABELS.includes(key) || CLUSTER_LABEL_PREFIXES.some(prefix => key.startsWith(prefix));
}

function nameErrors({ metadata: { name }, spec }: NodePool): FieldError[] {
  const field = 'metadata.name';
  const problem = poolNameProblem(name);
  if (problem !== undefined) return [{ field, message: problem, next: 'choose another name' }];
  if (!RESERVED_NAMES.includes(name) || spec.nodeSelector !== undefined) return [];
  return [
    {
      field,
      message: `"${name}" is reserved: by default this pool would take the control-plane nodes`,
      next: 'choose another name, or say which nodes belong in spec.nodeSelector',
    },
  ];
}

function labelErrors(pool: NodePool): FieldError[] {
  const labels = pool.spec.labels ?? {};
  const errors: FieldError[] = Object.entries(labels).flatMap(([key, value]) =>
    pairErrors(`spec.labels[${key}]`, key, value),
  );
  if (Object.keys(labels).length > MAX_LABELS) {
    errors.push({ field: 'spec.labels', message: `more than ${MAX_LABELS} labels` });
  }
  const membership = [...Object.keys(membershipSelector(pool)), `${ROLE_PREFIX}${pool.metadata.name}`];
  for (const key of Object.keys(labels)) {
    const field = `spec.labels[${key}]`;
    if (isClusterLabel(key)) {
      errors.push({ field, message: 'this label is set by the cluster itself', next: 'remove it from spec.labels' });
    } else if (membership.includes(key)) {
      errors.push({
        field,
        message: 'this label decides which nodes belong to the pool, so the pool cannot set it',
        next: 'remove it from spec.labels, and label the nodes themselves',
      });
    }
  }
  return errors;
}

function taintErrors({ spec: { taints = [] } }: NodePool): FieldError[] {
  const errors: FieldError[] = [];
  if (taints.length > MAX_TAINTS) errors.push({ field: 'spec.taints', message: `more than ${MAX_TAINTS} taints` });
  const seen = new Set<string>();
  for (const [index, taint] of taints.entries()) {
    errors.push(...oneTaintErrors(`spec.taints[${index}]`, taint));
    const id = taintId(taint);
    if (seen.has(id)) {
      errors.push({
        field: `spec.taints[${index}]`,
        message: `a second taint of key ${JSON.stringify(taint.key)} and effect ${taint.effect}`,
        next: 'keep one of the two',
      });
    }
    seen.add(id);
  }
  return errors;
}

function oneTaintErrors(field: string, { key, value = '', effect }: Taint): FieldError[] {
  const errors: FieldError[] = [];
  push(errors, `${field}.key`, keyProblem(key));
  push(errors, `${field}.value`, valueProblem(value));
  push(errors, `${field}.effect`, effectProblem(effect));
  if (key !== OUT_OF_SERVICE && CLUSTER_TAINT_PREFIXES.some(prefix => key.startsWith(prefix))) {
    errors.push({
      field: `${field}.key`,
      message: `the cluster itself sets and removes the taint ${key}`,
      next: 'remove it from spec.taints',
    });
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
        message: 'an empty selector names no nodes',
        next: 'give at least one label, or leave nodeSelector out for the default',
      },
    ];
  }
  const errors = pairs.flatMap(([key, value]) => pairErrors(`${field}[${key}]`, key, value));
  if (pairs.length > MAX_SELECTOR_LABELS) errors.push({ field, message: `more than ${MAX_SELECTOR_LABELS} labels` });
  return errors;
}

function otherErrors({ spec: { handler = '', unmanaged } }: NodePool): FieldError[] {
  const errors: FieldError[] = [];
  // The Go type of the API writes an unset handler as "".
  if (handler !== '') push(errors, 'spec.handler', dnsLabelProblem(handler));
  if (unmanaged !== undefined && unmanaged !== 'Keep' && unmanaged !== 'Remove') {
    push(errors, 'spec.unmanaged', `${JSON.stringify(unmanaged)} must be Keep or Remove`);
  }
  return errors;
}

function pairErrors(field: string, key: string, value: string): FieldError[] {
  const errors: FieldError[] = [];
  push(errors, field, keyProblem(key));
  push(errors, field, valueProblem(value));
  return errors;
}

function push(errors: FieldError[], field: string, message: string | undefined): void {
  if (message !== undefined) errors.push({ field, message });
}
