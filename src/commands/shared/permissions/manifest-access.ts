/** The controller's manifest, as questions about permissions: what it takes to apply it, and what it grants. */

import type { ManifestObject } from '../../../kube/connection.ts';
import type { AccessQuestion } from '../../../kube/ports/doctor.ts';
import { defined, isObject } from '../../../nodepool/json.ts';
import { resourceOf } from '../../../nodepool/plural.ts';

/** Whether somebody may do that with the object. */
export function questionsAbout({ apiVersion, kind, metadata }: ManifestObject, verbs: string[]): AccessQuestion[] {
  const { name, namespace } = metadata;
  const [group = ''] = apiVersion.includes('/') ? apiVersion.split('/', 1) : [];
  const resource = resourceOf(kind);
  return verbs.map(verb => defined({ verb, group, resource, namespace, name }));
}

/** What the subjects of the manifest's bindings are granted: the roles that are there for others are left out. */
export function boundGrantsOf(manifest: readonly ManifestObject[]): AccessQuestion[] {
  const bound = new Set(
    manifest.flatMap(({ metadata: { namespace }, roleRef }) =>
      isObject(roleRef) ? [`${roleRef.kind} ${roleRef.kind === 'Role' ? namespace : undefined} ${roleRef.name}`] : [],
    ),
  );
  return manifest
    .filter(({ kind, metadata }) => bound.has(`${kind} ${metadata.namespace} ${metadata.name}`))
    .flatMap(grantsOf);
}

/** What a Role or ClusterRole grants. */
export function grantsOf({ kind, metadata: { namespace }, rules }: ManifestObject): AccessQuestion[] {
  if ((kind !== 'Role' && kind !== 'ClusterRole') || !Array.isArray(rules)) return [];
  return rules.filter(isObject).flatMap(rule => {
    const names = texts(rule.resourceNames);
    return texts(rule.apiGroups).flatMap(group =>
      texts(rule.resources).flatMap(what => {
        const [resource = '', subresource] = what.split('/');
        return texts(rule.verbs).flatMap(verb =>
          (names.length === 0 ? [undefined] : names).map(name =>
            defined({ verb, group, resource, subresource, namespace, name }),
          ),
        );
      }),
    );
  });
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(item => typeof item === 'string') : [];
}
