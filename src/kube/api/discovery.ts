/** Aggregated discovery: one request for all groups, which every authenticated user may make. */
import type { Api } from './api.ts';
import type { Resource } from './resource.ts';

/** v2 exists since Kubernetes 1.30. */
const ACCEPT = ['v2', 'v2beta1']
  .map(version => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .join(',');

interface WireGroups {
  items?: {
    metadata?: { name?: string };
    versions?: {
      version?: string;
      resources?: { resource?: string; responseKind?: { kind?: string } }[];
    }[];
  }[];
}

/** The API groups that serve a resource of this plural. Throws NodepoolError if discovery fails. */
export async function groupsServing(api: Api, plural: string): Promise<string[]> {
  const items = await readGroups(api);
  const serves = ({ versions = [] }: (typeof items)[number]) =>
    versions.some(({ resources = [] }) => resources.some(({ resource }) => resource === plural));
  return items.filter(serves).flatMap(({ metadata }) => metadata?.name ?? []);
}

/** Whether the server serves the resource in this version. Throws as groupsServing(). */
export async function serves(api: Api, { group, version, plural }: Resource): Promise<boolean> {
  const groups = await readGroups(api);
  const versions = groups.find(({ metadata }) => metadata?.name === group)?.versions ?? [];
  const { resources = [] } = versions.find(each => each.version === version) ?? {};
  return resources.some(({ resource }) => resource === plural);
}

/** Those that the server serves, in its preferred version. @param names as `bgppeers.metallb.io` */
export async function servedResources(api: Api, names: readonly string[]): Promise<ReadonlyMap<string, Resource>> {
  const groups = await readGroups(api);
  const found = new Map<string, Resource>();
  for (const name of names) {
    const dot = name.indexOf('.');
    const [plural, group] = [name.slice(0, dot), name.slice(dot + 1)];
    const versions = groups.find(({ metadata }) => metadata?.name === group)?.versions ?? [];
    for (const { version = '', resources = [] } of versions) {
      const served = resources.find(({ resource }) => resource === plural);
      if (served === undefined || found.has(name)) continue;
      found.set(name, { group, version, plural, kind: served.responseKind?.kind ?? plural });
    }
  }
  return found;
}

async function readGroups(api: Api): Promise<NonNullable<WireGroups['items']>> {
  return (await api.read<WireGroups>('/apis', 'the API groups', ACCEPT)).items ?? [];
}
