/** A CRD without a schema, as an earlier version may have installed it. */
import type { RawClient } from '../cluster/raw.ts';
import { eventually } from '../e2e/watching.ts';
import { POOLS } from './model.ts';

const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.nodes.lailin.xyz';

/** Removes the schema of the CRD until the returned function is called or the test ends. */
export async function removeSchema(
  t: { after(fn: () => unknown): void },
  api: RawClient,
): Promise<() => Promise<void>> {
  const { spec } = (await api.expect('GET', CRD)) as { spec: { versions: object[] } };
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const versions = spec.versions.map(version => ({ ...version, schema: { openAPIV3Schema } }));
  const probe = { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name: 'probe' }, spec: 5 };
  const takes = async () => (await api.request('POST', `${POOLS}?dryRun=All`, probe)).status === 201;
  const isServed = async () => (await api.request('GET', POOLS)).status === 200;
  const set = async (to: object[], loose: boolean) => {
    await api.expect('PATCH', CRD, { spec: { versions: to } });
    await eventually(`the server takes anything: ${loose}`, async () => (await takes()) === loose && isServed());
  };
  const giveBack = () => set(spec.versions, false);
  t.after(giveBack);
  await set(versions, true);
  return giveBack;
}
