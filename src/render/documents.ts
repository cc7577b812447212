/** JSON and YAML of what is no API object. docs/commands/output.md describes the fields of each kind. */
import { printValue } from './printers.ts';

/** Within a version fields are added; none is removed, renamed or given another type. */
const VERSION = 'cli.nodes.lailin.xyz/v1alpha1';

type Kind = 'Diff' | 'DoctorReport' | 'NodeExplanation' | 'PoolNodeList' | 'PoolUsage' | 'ReconcileResultList';

/** Without the last newline. */
export function printDocument(kind: Kind, fields: object, format: 'json' | 'yaml'): string {
  return printValue({ apiVersion: VERSION, kind, ...fields }, format);
}
