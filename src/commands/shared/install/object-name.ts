import type { ManifestObject } from '../../../kube/connection.ts';

/** As kubectl names an object in its messages: `deployment.apps/name`. */
export function nameOf(object: ManifestObject): string {
  return `${kindOf(object)}/${object.metadata.name}`;
}

/** As kubectl names a deleted object: `deployment.apps "name"`. */
export function quotedNameOf(object: ManifestObject): string {
  return `${kindOf(object)} "${object.metadata.name}"`;
}

function kindOf({ apiVersion, kind }: ManifestObject): string {
  const [group] = apiVersion.split('/');
  return group === apiVersion ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`;
}
