/** The result of a check, and helpers for checks. */

import type { NodepoolError } from '../../nodepool/errors.ts';
import { firstFew } from '../../nodepool/text.ts';
import { valueOrRefusal } from './refusals.ts';

/** `skipped`: a precondition failed, which an earlier check reports. */
export type CheckStatus = 'ok' | 'warning' | 'error' | 'skipped';

export interface CheckFinding {
  status: CheckStatus;
  /** The finding, in one sentence. */
  message: string;
  /** The objects or permissions concerned, as text. */
  details: string[];
  /** The fix, as one imperative sentence without a final full stop. */
  remedy?: string | undefined;
  /** Missing permissions, shown to people instead of the details. */
  permissions?: PermissionRow[];
}

export interface PermissionRow {
  verbs: string;
  resource: string;
  /** Commands that need one of these permissions. */
  commands: string[];
}

/** Stable names for scripts, in the order of the checks. */
export const CHECKS = [
  'kubeconfig',
  'server',
  'version',
  'crd',
  'names',
  'permissions',
  'controller-permissions',
  'policies',
  'controller',
  'clock',
  'overlaps',
  'orphans',
  'pools',
  'rollouts',
  'members',
  'maintenance',
  'due',
  'specs',
  'membership',
  'runtime-classes',
  'handlers',
  'quantities',
  'startup-taints',
] as const;

export type CheckId = (typeof CHECKS)[number];

export interface Check extends CheckFinding {
  id: CheckId;
}

export function ok(message: string, details: string[] = []): CheckFinding {
  return { status: 'ok', message, details };
}

export function warning(message: string, remedy: string, details: string[] = []): CheckFinding {
  return { status: 'warning', message, details, remedy };
}

export function error(message: string, remedy: string, details: string[] = []): CheckFinding {
  return { status: 'error', message, details, remedy };
}

export function skipped(message: string): CheckFinding {
  return { status: 'skipped', message, details: [] };
}

export function failed({ lines, next }: NodepoolError): CheckFinding {
  const [message = '', ...details] = lines;
  return { status: 'error', message, details, remedy: next };
}

/** A warning that the check could not run, so nothing is known about its subject. */
export function notChecked({ lines, next }: NodepoolError): CheckFinding {
  const [message = '', ...details] = lines;
  return { status: 'warning', message: `not checked: ${message}`, details, remedy: next };
}

/** The finding of the check, or a warning that it could not run. */
export async function unlessRefused(check: () => Promise<CheckFinding>): Promise<CheckFinding> {
  const result = await valueOrRefusal(check);
  return 'value' in result ? result.value : notChecked(result.refusal);
}

/** Maximum number of names in one detail. */
const MAX_NAMED = 10;

/** `a, b, c`, or the first ten names and the number of the others. */
export function named(names: readonly string[]): string {
  return firstFew(names.toSorted(), MAX_NAMED);
}
