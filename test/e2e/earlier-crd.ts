/** CRDs of NodePool of other versions, which replace ours. */
import { API_VERSION } from '../../src/nodepool/types.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { raw } from '../cluster/raw.ts';
import { readCrd } from './pools.ts';
import { eventually } from './watching.ts';

type Json = Record<string, unknown>;
interface Crd {
  metadata: { resourceVersion?: string };
  spec: { versions: { schema: Json; subresources?: Json }[] };
}

const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.nodes.lailin.xyz';
const POOLS = `/apis/${API_VERSION}/nodepools`;
const text = { type: 'string' };
const map = { type: 'object', additionalProperties: text };

/** The types of the earlier operator, as controller-gen writes them. */
const EARLIER_SCHEMA = {
  type: 'object',
  properties: {
    apiVersion: text,
    kind: text,
    metadata: { type: 'object' },
    spec: {
      type: 'object',
      properties: {
        handler: text,
        labels: map,
        taints: {
          type: 'array',
          items: {
            type: 'object',
            required: ['effect', 'key'],
            properties: { effect: text, key: text, value: text, timeAdded: { type: 'string', format: 'date-time' } },
          },
        },
      },
    },
    status: {
      type: 'object',
      required: ['nodeCount', 'status'],
      properties: {
        allocatable: {
          type: 'object',
          additionalProperties: { anyOf: [{ type: 'integer' }, text], 'x-kubernetes-int-or-string': true },
        },
        nodeCount: { type: 'integer' },
        status: { type: 'integer' },
      },
    },
  },
};

/** The result of a status write under each: the response code, and which fields of the probe are kept. */
const PROBED = {
  ours: [200, 'nodeCount,observedGeneration,status,updatedNodeCount'],
  'without updatedNodeCount': [200, 'nodeCount,observedGeneration,status'],
  // A version without it lacks updatedNodeCount, too.
  'without matchExpressions': [200, 'nodeCount,observedGeneration,status'],
  'no status subresource': [404, ''],
  'earlier schema': [200, 'nodeCount,status'],
} as const;

/** Resolves when the server serves it. */
export async function useCrd(cluster: ControlPlane, which: keyof typeof PROBED): Promise<void> {
  const api = raw(cluster);
  const ours = (await readCrd()) as unknown as Crd;
  for (const version of ours.spec.versions) {
    if (which === 'no status subresource') delete version.subresources;
    if (which.startsWith('without ')) delete statusFields(version.schema).updatedNodeCount;
    if (which === 'without matchExpressions') version.schema = withoutExpressions(version.schema);
    if (which === 'earlier schema') version.schema = { openAPIV3Schema: EARLIER_SCHEMA };
  }
  const { metadata } = (await api.expect('GET', CRD)) as Crd;
  await api.expect('PUT', CRD, { ...ours, metadata: { ...ours.metadata, ...metadata } });
  const probe = { apiVersion: API_VERSION, kind: 'NodePool', metadata: { name: 'probe' } };
  // The server answers 429 during the change.
  await eventually('a pool is made', async () => [201, 409].includes((await api.request('POST', POOLS, probe)).status));
  const status = { status: 200, nodeCount: 0, observedGeneration: 1, updatedNodeCount: 0 };
  await eventually(`the server serves the CRD: ${which}`, async () => {
    const answer = await api.request('PATCH', `${POOLS}/probe/status?dryRun=All`, { status });
    const stored = (answer.status === 200 && (answer.body as { status?: Json }).status) || {};
    // A running watch may have written other fields.
    const kept = Object.keys(status).filter(field => field in stored);
    return answer.status === PROBED[which][0] && kept.toSorted().join() === PROBED[which][1];
  });
  await eventually('it is gone', async () =>
    [200, 404].includes((await api.request('DELETE', `${POOLS}/probe`)).status),
  );
  await eventually('pools are listed', async () => (await api.request('GET', POOLS)).status === 200);
}

function statusFields(schema: Json): Json {
  type Nested = { openAPIV3Schema: { properties: { status: { properties: Json } } } };
  return (schema as unknown as Nested).openAPIV3Schema.properties.status.properties;
}

/** Without the field and the rules that name it. */
function withoutExpressions(schema: Json): Json {
  const isOther = (rule: unknown) => !JSON.stringify(rule).includes('matchExpressions');
  return JSON.parse(
    JSON.stringify(schema, (key, value: unknown) => {
      if (key === 'matchExpressions') return undefined;
      return key === 'x-kubernetes-validations' && Array.isArray(value) ? value.filter(isOther) : value;
    }),
  );
}
