/** Aggregated discovery: one request for all groups, which every authenticated user may make. */
import type { Api } from './api.ts';
import type { Resource } from './resource.ts';

/** Kubernetes 1.30 has v2. */
const ACCEPT = ['v2', 'v2beta1']
  .map(version => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .join(',');

interface WireGroups {
  items?: { metadata?: { name?: string }; versions?: { version?: string; resources?: { resource?: string }[] }[] }[];
}

/** The API groups that serve a resource of this plural. Throws NodepoolError when the server does not tell. */
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

async function readGroups(api: Api): Promise<NonNullable<WireGroups['items']>> {
  return (await api.read<WireGroups>('/apis', 'the API groups', ACCEPT)).items ?? [];
}
