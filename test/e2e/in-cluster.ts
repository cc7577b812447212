/** The controller of the manifests: its objects, and a process as its Deployment starts it. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readController, readPolicies } from '../../src/cli/manifests.ts';
import type { ManifestObject } from '../../src/kube/resources/manifests.ts';
import type { AuditEvent } from '../cluster/audit.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { raw } from '../cluster/raw.ts';
import { startWatching, type Watching } from './watching.ts';

export const IMAGE = 'registry.example.com/kubectl-nodepool:0.1.0';
export const NAMESPACE = 'nodepool-system';
export const NAME = 'nodepool-controller';
export const CLUSTER_ROLE = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${NAME}`;
export const DEPLOYMENT = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${NAME}`;
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export async function readManifests(): Promise<{ objects: ManifestObject[]; policies: number }> {
  const [policies, controller] = await Promise.all([readPolicies(ROOT), readController(ROOT)]);
  return { objects: [...policies.objects, ...controller.objects], policies: policies.objects.length };
}

export interface PodTemplate {
  spec: { template: { metadata: object; spec: { containers: { image: string; args: string[] }[] } } };
}

/** Starts a process as the Deployment does, with the token that its pod would have. @param more further flags, or those of the Deployment with another value */
export async function startController(
  t: Parameters<typeof startWatching>[0],
  plane: ControlPlane,
  ...more: string[]
): Promise<Watching> {
  const path = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/${NAME}/token`;
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } };
  const { status } = (await raw(plane).expect('POST', path, request)) as { status: { token: string } };
  const { server, ca, dir } = plane;
  const kubeconfig = join(dir, 'controller.kubeconfig');
  const cluster = { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  const content = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'c', user: { token: status.token } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
  };
  await writeFile(kubeconfig, JSON.stringify(content), { mode: 0o600 });
  const deployment = (await raw(plane).expect('GET', DEPLOYMENT)) as PodTemplate;
  const [verb, watch, ...flags] = deployment.spec.template.spec.containers[0]?.args ?? [];
  assert.deepEqual([verb, watch], ['reconcile', '--watch']);
  // The ports of the pod may be taken on this machine.
  const local = flags
    .map(flag => flag.replace(/=:\d+$/, '=127.0.0.1:0'))
    .filter(flag => !more.some(one => nameOf(one) === nameOf(flag)));
  return startWatching(t, { ...plane, kubeconfig }, ...local, ...more);
}

const nameOf = (flag: string) => flag.replace(/=.*/, '');

export function isRefused({ code }: AuditEvent): boolean {
  return code === 401 || code === 403;
}

/** As permissionsOf writes it. */
export function permission({ verb, resource, name, uri }: AuditEvent): string {
  const [, group = '', namespace] = /^\/(?:api|apis\/([^/]+))\/[^/]+(?:\/namespaces\/([^/]+))?/.exec(uri) ?? [];
  const named = resource === 'leases' && verb !== 'create' ? name : undefined;
  return textOf(verb, group, resource, namespace, named);
}

/** `VERB GROUP/RESOURCE[ in NAMESPACE][ named NAME]` for each permission of a role. */
export function permissionsOf({ kind, metadata, ...role }: ManifestObject): string[] {
  if (kind !== 'Role' && kind !== 'ClusterRole') return [];
  const rules = role.rules as { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }[];
  return rules.flatMap(({ apiGroups, resources, verbs, resourceNames = [undefined] }) =>
    apiGroups.flatMap(group =>
      resources.flatMap(resource =>
        verbs.flatMap(verb => resourceNames.map(name => textOf(verb, group, resource, metadata.namespace, name))),
      ),
    ),
  );
}

function textOf(verb: string, group: string, resource: string, namespace?: string, name?: string): string {
  const place = namespace === undefined ? '' : ` in ${namespace}`;
  return `${verb} ${group}/${resource}${place}${name === undefined ? '' : ` named ${name}`}`;
}
