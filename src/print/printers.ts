/** Prints objects byte for byte like `kubectl get -o json|yaml|name`, and omits managedFields where kubectl does. */
import { checkDepth } from './depth.ts';
import { poolRef, sanitizeJson, sanitizeLine } from './sanitize.ts';
import { toYaml } from './yaml.ts';

export type ObjectFormat = 'json' | 'yaml' | 'name';

/** The event types of the watch API. */
export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** An API object as the server sent it. */
interface ApiObject {
  metadata: { name: string };
}

/** Without the last newline. @param asList false prints a single object without a List, as kubectl does for one name */
export function printObjects(objects: readonly ApiObject[], format: ObjectFormat, asList: boolean): string {
  if (format === 'name') return objects.map(printName).join('\n');
  const value = listOrObject(objects.map(withoutManagedFields), asList);
  return format === 'json' ? printJson(value) : toYaml(value);
}

/** Like kubectl: a List, or the single object. */
export function listOrObject(objects: readonly Record<string, unknown>[], asList: boolean): Record<string, unknown> {
  const [first] = objects;
  if (!asList && first !== undefined && objects.length === 1) return first;
  return { apiVersion: 'v1', items: objects, kind: 'List', metadata: { resourceVersion: '' } };
}

/** A watch event with the whole object, as one line of JSON or as YAML; for `name` the object's name. */
function printWatchEvent(type: ChangeType, object: ApiObject, format: ObjectFormat): string {
  if (format === 'name') return printName(object);
  if (format === 'yaml') return toYaml({ object, type });
  return `{"type":${JSON.stringify(type)},"object":${printCompactJson(object)}}`;
}

/** Objects one by one, like `kubectl get --watch -o json|yaml|name`. @param asEvents `--output-watch-events` */
export function objectStream(format: ObjectFormat, asEvents: boolean): (object: ApiObject, type: ChangeType) => string {
  let separator = '';
  return (object, type) => {
    const text = asEvents ? printWatchEvent(type, object, format) : printObjects([object], format, false);
    const separated = separator + text;
    if (format === 'yaml') separator = '---\n';
    return separated;
  };
}

/** `nodepool.nodes.lailin.xyz/worker` */
function printName(object: ApiObject): string {
  return poolRef(object.metadata.name);
}

/** For values that are not API objects. Without the last newline. */
export function printValue(value: object, format: 'json' | 'yaml'): string {
  return format === 'json' ? printJson(value) : toYaml({ ...value });
}

/** Indented by four spaces, with sorted keys; `<`, `>` and `&` are escaped. Without the last newline. */
export function printJson(value: unknown): string {
  checkDepth(value);
  return sanitizeJson(toJson(value, ''));
}

/** Like printJson(), on one line without spaces. */
export function printCompactJson(value: unknown): string {
  checkDepth(value);
  return sanitizeJson(toJson(value, undefined));
}

/** YAML with the last newline, for an editor. */
export function printYaml(object: object): string {
  return `${toYaml(withoutManagedFields(object))}\n`;
}

function withoutManagedFields(object: object): Record<string, unknown> {
  if (!('metadata' in object) || typeof object.metadata !== 'object' || object.metadata === null) return { ...object };
  return {
    ...object,
    metadata: Object.fromEntries(Object.entries(object.metadata).filter(([key]) => key !== 'managedFields')),
  };
}

/** JSON.stringify() cannot sort keys that look like numbers. @param pad undefined prints one line */
function toJson(value: unknown, pad: string | undefined): string {
  const inner = pad === undefined ? undefined : `${pad}    `;
  const block = (open: string, items: string[], close: string) => {
    if (inner === undefined || items.length === 0) return open + items.join(',') + close;
    return `${open}\n${inner}${items.join(`,\n${inner}`)}\n${pad}${close}`;
  };
  if (Array.isArray(value)) {
    return block(
      '[',
      value.map(item => toJson(item ?? null, inner)),
      ']',
    );
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${pad === undefined ? '' : ' '}${toJson(member, inner)}`);
  return block('{', members, '}');
}

// Comma-separated values (RFC 4180), with Unix newlines.

/** The start of a spreadsheet formula, also fullwidth (OWASP, CSV Injection). Tabs are already escaped. */
const FORMULA = /^[=+\-@\uff1d\uff0b\uff0d\uff20]/;
/** Signed numbers and quantities are not formulas. */
const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+|[numkMGTPE]|[KMGTPE]i)?$/;
/** Includes `;`, which separates cells in locales with a decimal comma. */
const QUOTED = /[",;]/;

/** Without the last newline. Cells are escaped for a terminal; an apostrophe turns formulas into text. */
export function renderCsv(rows: readonly (readonly string[])[]): string {
  return rows.map(row => row.map(cell).join(',')).join('\n');
}

function cell(text: string): string {
  const line = sanitizeLine(text);
  const safe = FORMULA.test(line) && !NUMBER.test(line) ? `'${line}` : line;
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

// JSON and YAML of values that are not API objects. docs/commands/output.md describes the fields of each kind.

/** Within a version, fields may be added, but not removed, renamed or changed in type. */
const VERSION = 'cli.nodes.lailin.xyz/v1alpha1';

type DocumentKind =
  | 'Diff'
  | 'DoctorReport'
  | 'History'
  | 'NodeExplanation'
  | 'PodFitList'
  | 'PoolNodeList'
  | 'PoolReport'
  | 'PoolUsage'
  | 'ReconcileResultList';

/** Adds the version and the kind. */
export function documentOf(kind: DocumentKind, fields: object): Record<string, unknown> {
  return { apiVersion: VERSION, kind, ...fields };
}

/** Without the last newline. */
export function printDocument(kind: DocumentKind, fields: object, format: 'json' | 'yaml'): string {
  return printValue(documentOf(kind, fields), format);
}
