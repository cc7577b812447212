/** The rules for the taints and startup taints of a pool (see validation.ts). */
import type { NodePool, StartupTaint, Taint, TaintEffect } from '../types.ts';
import type { FieldError } from './field-error.ts';
import { effectProblem, keyProblem, valueProblem } from './syntax.ts';

/** Of taints, and of startup taints. */
export const MAX_TAINTS = 100;

/** The node lifecycle controller, cloud controllers and others set and remove these. */
const CLUSTER_TAINT_PREFIXES = ['node.kubernetes.io/', 'node.cloudprovider.kubernetes.io/'];
/** The only one of them that people set by hand. */
const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

export function taintErrors({ spec: { taints = [] } }: NodePool): FieldError[] {
  return listErrors('spec.taints', taints);
}

export function startupTaintErrors({ spec: { taints = [], startupTaints = [] } }: NodePool): FieldError[] {
  const field = 'spec.startupTaints';
  const ids = new Set(taints.map(taintId));
  const both = startupTaints.find(taint => ids.has(taintId(taint)));
  return [
    ...listErrors(field, startupTaints),
    ...startupTaints.flatMap(({ until }, index) => conditionErrors(`${field}[${index}].until.nodeCondition`, until)),
    ...startupTaints.flatMap(({ again = 'Boot' }, index) =>
      again === 'Boot' ? [] : [{ field: `${field}[${index}].again`, message: againProblem(again) }],
    ),
    ...(both === undefined
      ? []
      : [
          {
            field,
            message: `spec.taints has key ${JSON.stringify(both.key)} and effect ${both.effect}, too`,
            next: 'keep one of the two',
          },
        ]),
  ];
}

/** The problem with the type of a condition, by the rules for those of readiness gates; undefined when it is valid. */
export function conditionProblem(type: string): string | undefined {
  return keyProblem(type)?.replace(/\bkey\b/, 'condition type');
}

export function againProblem(again: string): string {
  return `${JSON.stringify(again)} is not Boot, the only time at which a startup taint is given again`;
}

function conditionErrors(field: string, until: StartupTaint['until']): FieldError[] {
  const message = until && conditionProblem(until.nodeCondition);
  return message === undefined ? [] : [{ field, message }];
}

function listErrors(field: string, taints: readonly Taint[]): FieldError[] {
  const errors: FieldError[] = [];
  if (taints.length > MAX_TAINTS) errors.push({ field, message: `more than ${MAX_TAINTS} taints` });
  const seen = new Set<string>();
  for (const [index, taint] of taints.entries()) {
    errors.push(...oneTaintErrors(field, index, taint));
    const id = taintId(taint);
    if (seen.has(id)) {
      errors.push({
        field: `${field}[${index}]`,
        message: `a second taint of key ${JSON.stringify(taint.key)} and effect ${taint.effect}`,
        next: 'keep one of the two',
      });
    }
    seen.add(id);
  }
  return errors;
}

function oneTaintErrors(list: string, index: number, { key, value = '', effect }: Taint): FieldError[] {
  const field = `${list}[${index}]`;
  const errors: FieldError[] = [];
  push(errors, `${field}.key`, keyProblem(key));
  push(errors, `${field}.value`, valueProblem(value));
  push(errors, `${field}.effect`, effectProblem(effect));
  if (key !== OUT_OF_SERVICE && CLUSTER_TAINT_PREFIXES.some(prefix => key.startsWith(prefix))) {
    errors.push({
      field: `${field}.key`,
      message: `the cluster itself sets and removes the taint ${key}`,
      next: `remove it from ${list}`,
    });
  }
  return errors;
}

function push(errors: FieldError[], field: string, message: string | undefined): void {
  if (message !== undefined) errors.push({ field, message });
}

/** The identity of a taint in plans and records: `key:Effect`. */
export function taintId(taint: { key: string; effect: TaintEffect }): string {
  return `${taint.key}:${taint.effect}`;
}

/** Whether key, effect and value are equal. As for the API server, a missing value equals "". */
export function isSameTaint(a: Taint, b: Taint): boolean {
  return a.key === b.key && a.effect === b.effect && (a.value ?? '') === (b.value ?? '');
}

/** The taint with this identity and value; "" is left out, as the API server prints it. */
export function taintFrom(id: string, value: string): Taint {
  const colon = id.lastIndexOf(':');
  const effect = id.slice(colon + 1) as TaintEffect;
  return { key: id.slice(0, colon), ...(value === '' ? {} : { value }), effect };
}
