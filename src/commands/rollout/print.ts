/** The history of a pool in the format of `kubectl rollout history`. */
import { type ControllerRevision, causeOf, keptSpec } from '../../nodepool/rollout/revisions.ts';
import { poolRef } from '../../print/sanitize.ts';
import { DESCRIBE, renderTable } from '../../print/table.ts';
import { toYaml } from '../../print/yaml.ts';

export function renderHistory(pool: string, revisions: readonly ControllerRevision[]): string {
  if (revisions.length === 0) return `${poolRef(pool)}\nNo rollout history found.`;
  const rows = revisions.map(each => [String(each.revision), causeOf(each) ?? '<none>']);
  return `${poolRef(pool)}\n${renderTable([['REVISION', 'CHANGE-CAUSE'], ...rows], DESCRIBE)}`;
}

/** One revision, with its spec as YAML. */
export function renderRevision(pool: string, { revision, data }: ControllerRevision): string {
  const { spec } = data as { spec: object };
  const yaml = toYaml({ spec: keptSpec(spec) });
  return `${poolRef(pool)} with revision #${revision}\n${yaml}`;
}
