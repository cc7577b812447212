/** The history of a pool in the format of `kubectl rollout history`, and the changes of an undo. */
import { type ControllerRevision, causeOf, keptSpec } from '../../nodepool/rollout/revisions.ts';
import type { SpecChange } from '../../nodepool/spec/edits.ts';
import { shorten } from '../../print/cells.ts';
import { printCompactJson } from '../../print/printers.ts';
import { poolRef, sanitizeLine } from '../../print/sanitize.ts';
import type { Style } from '../../print/style.ts';
import { renderTable } from '../../print/table.ts';
import { toYaml } from '../../print/yaml.ts';

/** Maximum width of a value. */
const VALUE_WIDTH = 80;
/** The settings of kubectl's tabwriter. */
const LAYOUT = { gap: 2, minWidth: 0 };

export function renderHistory(pool: string, revisions: readonly ControllerRevision[]): string {
  if (revisions.length === 0) return `${poolRef(pool)}\nNo rollout history found.`;
  const rows = revisions.map(each => [String(each.revision), causeOf(each) ?? '<none>']);
  return `${poolRef(pool)}\n${renderTable([['REVISION', 'CHANGE-CAUSE'], ...rows], LAYOUT)}`;
}

/** One revision, with its spec as YAML. */
export function renderRevision(pool: string, { revision, data }: ControllerRevision): string {
  const { spec } = data as { spec: object };
  const yaml = toYaml({ spec: keptSpec(spec) });
  return `${poolRef(pool)} with revision #${revision}\n${yaml}`;
}

/** A line for each field, in the format that `diff` uses for nodes. */
export function renderSpecChanges(changes: readonly SpecChange[], style: Style): string {
  return changes.map(change => specChangeLine(change, style)).join('\n');
}

function specChangeLine({ path, from, to }: SpecChange, style: Style): string {
  const line = (paint: (text: string) => string, text: string) => `  ${paint(sanitizeLine(text))}`;
  if (from === undefined) return line(style.green, `+ ${path}: ${textOf(to)}`);
  if (to === undefined) return line(style.red, `- ${path}: ${textOf(from)}`);
  return line(style.yellow, `~ ${path}: ${textOf(from)} -> ${textOf(to)}`);
}

function textOf(value: unknown): string {
  const text = typeof value === 'string' && value !== '' ? value : printCompactJson(value);
  return shorten(text, VALUE_WIDTH);
}
