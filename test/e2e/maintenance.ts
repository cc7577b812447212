/** Two people who take nodes out of service. */
import assert from 'node:assert/strict';
import { MAINTENANCE_ANNOTATION } from '../../src/nodepool/types.ts';
import type { FaultProxy } from '../fault/proxy.ts';
import type { LiveNode, TestEnv } from './test-env.ts';

/** Flags of an administrator with this name. */
export function as(user: string): string[] {
  return ['--as', user, '--as-group', 'system:masters'];
}

/** The annotation of the node, parsed. */
export function annotationOf({ metadata }: LiveNode): Record<string, string> | undefined {
  const raw = metadata.annotations?.[MAINTENANCE_ANNOTATION];
  return raw === undefined ? undefined : (JSON.parse(raw) as Record<string, string>);
}

/** Whether the node is cordoned, and whose maintenance it is in. */
export async function stateOf(testEnv: Pick<TestEnv, 'node'>, name: string): Promise<string> {
  const node = await testEnv.node(name);
  const { owner, reason } = annotationOf(node) ?? {};
  return [node.spec.unschedulable ? 'cordoned' : 'schedulable', owner, reason]
    .filter(part => part !== undefined)
    .join(' ');
}

/** Writes an annotation as somebody else would, with the UID of the node. */
export async function writeMaintenance(testEnv: TestEnv, name: string, fields: object): Promise<void> {
  const { uid } = (await testEnv.node(name)).metadata as { uid?: string };
  assert.ok(uid);
  const value = JSON.stringify({ owner: 'bob', since: '2026-01-01T00:00:00Z', uid, ...fields });
  await testEnv.patchNode(name, { metadata: { annotations: { [MAINTENANCE_ANNOTATION]: value } } });
}

/** The condition that publishes a maintenance. */
export function conditionOf(node: LiveNode): { status: string; reason: string; message: string } | undefined {
  const { status } = node as {
    status?: { conditions?: { type: string; status: string; reason: string; message: string }[] };
  };
  return status?.conditions?.find(({ type }) => type === 'MaintenanceInProgress');
}

/** The server behind the proxy says that it is this version. */
export function serveVersion(proxy: FaultProxy, gitVersion: string): void {
  const [major, minor] = gitVersion.slice(1).split('.');
  const body = JSON.stringify({ major, minor, gitVersion });
  proxy.onRequest(({ path }) =>
    path === '/version'
      ? ({ client }) => void client.writeHead(200, { 'content-type': 'application/json' }).end(body)
      : undefined,
  );
}
