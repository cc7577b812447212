/** JSON and YAML of what is no API object. docs/commands/output.md describes the fields of each kind. */
import { printValue } from './printers.ts';

/** Within a version fields are added; none is removed, renamed or given another type. */
const VERSION = 'cli.nodes.lailin.xyz/v1alpha1';

type Kind =
  | 'Diff'
  | 'DoctorReport'
  | 'History'
  | 'NodeExplanation'
  | 'PodFitList'
  | 'PoolNodeList'
  | 'PoolReport'
  | 'PoolUsage'
  | 'ReconcileResultList';

/** With the version and the kind. */
export function documentOf(kind: Kind, fields: object): Record<string, unknown> {
  return { apiVersion: VERSION, kind, ...fields };
}

/** Without the last newline. */
export function printDocument(kind: Kind, fields: object, format: 'json' | 'yaml'): string {
  return printValue(documentOf(kind, fields), format);
}
