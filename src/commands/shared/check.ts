/** The result of a check, and helpers that checks share. */

import type { NodepoolError } from '../../nodepool/errors.ts';
import { firstFew } from '../../nodepool/text.ts';
import { valueOrRefusal } from './refusals.ts';

/** `skipped`: a precondition is missing; an earlier check says which. */
export type CheckStatus = 'ok' | 'warning' | 'error' | 'skipped';

export interface CheckFinding {
  status: CheckStatus;
  /** What was found, in one sentence. */
  message: string;
  /** Each object or permission that it is about, as text. */
  details: string[];
  /** What to do about it, as one imperative sentence without a trailing full stop. */
  remedy?: string | undefined;
  /** Missing permissions, for people in place of the details. */
  permissions?: PermissionRow[];
}

export interface PermissionRow {
  verbs: string;
  resource: string;
  /** That need one of them. */
  commands: string[];
}

/** Names that scripts may rely on, in the order of the checks. */
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

/** The check could not be made: a warning, no finding about its subject. */
export function notChecked({ lines, next }: NodepoolError): CheckFinding {
  const [message = '', ...details] = lines;
  return { status: 'warning', message: `not checked: ${message}`, details, remedy: next };
}

/** The finding of the check, or that the check could not be made. */
export async function unlessRefused(check: () => Promise<CheckFinding>): Promise<CheckFinding> {
  const result = await valueOrRefusal(check);
  return 'value' in result ? result.value : notChecked(result.refusal);
}

/** Names in one detail. */
const MAX_NAMED = 10;

/** `a, b, c`, or the first ten and how many more. */
export function named(names: readonly string[]): string {
  return firstFew(names.toSorted(), MAX_NAMED);
}
