/** An admission policy that refuses certain writes, in force when refusing() resolves. */
import { type RawClient, raw } from '../cluster/raw.ts';

export interface Refusal {
  /** As in a rule of an admission policy. */
  group: string;
  resource: string;
  operation: 'CREATE' | 'UPDATE' | 'DELETE';
  /** CEL; a write for which it does not hold is refused. */
  unless: string;
  /** A write that the policy refuses; sent as a dry run until it is in force. */
  probe: [method: string, path: string, body?: unknown];
}

/** Refuses every update of the node, or those that set the label. */
export function nodeRefusal(name: string, label?: { key: string; value: string }): Refusal {
  const set = label === undefined ? '' : ` || object.metadata.labels['${label.key}'] != '${label.value}'`;
  const labels = label === undefined ? { x: 'y' } : { [label.key]: label.value };
  return {
    group: '',
    resource: 'nodes',
    operation: 'UPDATE',
    unless: `object.metadata.name != '${name}'${set}`,
    probe: ['PATCH', `/api/v1/nodes/${name}`, { metadata: { labels } }],
  };
}

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const NAME = 'refusal';

/** Runs the work while the writes are refused with "not in this test". */
export async function whileRefusing(
  cluster: Parameters<typeof raw>[0],
  refusal: Refusal,
  work: () => Promise<void>,
): Promise<void> {
  const client = raw(cluster);
  const { group, resource, operation, unless } = refusal;
  const rule = { apiGroups: [group], apiVersions: ['*'], operations: [operation], resources: [resource] };
  await client.expect('POST', `${ADMISSION}/validatingadmissionpolicies`, {
    metadata: { name: NAME },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: unless, message: 'not in this test' }],
    },
  });
  await client.expect('POST', `${ADMISSION}/validatingadmissionpolicybindings`, {
    metadata: { name: NAME },
    spec: { policyName: NAME, validationActions: ['Deny'] },
  });
  try {
    while (!(await isRefused(client, refusal)));
    await work();
  } finally {
    await client.expect('DELETE', `${ADMISSION}/validatingadmissionpolicybindings/${NAME}`);
    await client.expect('DELETE', `${ADMISSION}/validatingadmissionpolicies/${NAME}`);
    while (await isRefused(client, refusal));
  }
}

async function isRefused(client: RawClient, { probe: [method, path, body] }: Refusal): Promise<boolean> {
  return (await client.request(method, `${path}?dryRun=All`, body)).status === 422;
}
