/**
 * Objects that have a name of ours and are somebody else's: they are neither taken over nor deleted (docs/decisions/0056).
 * Every object of manifests/controller.yaml has the label app.kubernetes.io/name, and so had those of earlier versions. An
 * object whose manifest has no such label, as the CRD and the policies, is ours by its name, which ends with our API group.
 */

import type { ManifestObject } from '../../../kube/connection.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';
import { isObject, own } from '../../../nodepool/json.ts';
import { resourceOf } from '../../../nodepool/plural.ts';

const NAME_LABEL = 'app.kubernetes.io/name';

/** @param wanted as in the manifest @param live as the server has it; undefined when there is none */
export function isForeign(wanted: ManifestObject, live: ManifestObject | undefined): boolean {
  const label = labelOf(wanted);
  return live !== undefined && label !== undefined && labelOf(live) !== label;
}

/** Throws a NodepoolError that names those that are somebody else's, before anything is written. */
export function refuseForeign(objects: readonly ManifestObject[], live: readonly (ManifestObject | undefined)[]): void {
  const foreign = objects.filter((wanted, at) => isForeign(wanted, live[at]));
  const [first] = foreign;
  if (first === undefined) return;
  const { name, namespace } = first.metadata;
  const where = namespace === undefined ? '' : ` -n ${namespace}`;
  const label = `${NAME_LABEL}=${labelOf(first)}`;
  throw new NodepoolError(
    'input',
    `${foreign.map(textOf).join(', ')} exists and was not made by kubectl nodepool: it has no label ${label}; nothing was changed`,
    `rename or delete it; or, to hand it over: kubectl label${where} ${resourceOf(first.kind)} ${name} ${label}`,
  );
}

export function textOf({ kind, metadata: { name, namespace } }: ManifestObject): string {
  return `${kind} ${name}${namespace === undefined ? '' : ` in namespace ${namespace}`}`;
}

function labelOf({ metadata }: ManifestObject): string | undefined {
  const value = isObject(metadata.labels) ? own(metadata.labels, NAME_LABEL) : undefined;
  return typeof value === 'string' ? value : undefined;
}
