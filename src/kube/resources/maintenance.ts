/** MaintenancePort: authentication.k8s.io/v1 SelfSubjectReview, and one condition of a node. */
import { hostname } from 'node:os';
import { MAX_OWNER_LENGTH, type MaintenanceOwner, maintenanceIn } from '../../nodepool/drain/maintenance.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { isObject, parsedJson } from '../../nodepool/json.ts';
import { timestamp } from '../../nodepool/timestamp.ts';
import type { Node } from '../../nodepool/types.ts';
import type { Api } from '../api/api.ts';
import { EVENTS, inJson, NODES, SELF_REVIEWS } from '../api/resource.ts';
import type { PoolEvent } from '../cluster.ts';
import type { Transport } from '../transport/transport.ts';
import { toNodeEvent } from './events.ts';
import type { WireNode } from './kept-annotations.ts';

/** Merges the list of conditions by type, so that conditions of others need not be sent. */
const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';

export function maintenancePort(api: Api, transport: Transport): MaintenancePort {
  return {
    owner: () => ownerOf(api, transport),
    serverVersion: () => api.serverVersion(),
    async condition(name, type) {
      const node = await api.get<WireNode>(inJson(NODES), name);
      if (node === undefined) return undefined;
      const { metadata = {}, spec, status } = node;
      const found = status?.conditions?.find(condition => condition.type === type);
      const { status: state = '', reason = '', message = '' } = found ?? {};
      return {
        uid: metadata.uid ?? '',
        resourceVersion: metadata.resourceVersion ?? '',
        unschedulable: spec?.unschedulable ?? false,
        ...maintenanceIn(metadata.annotations),
        condition: found && { status: state, reason, message },
      };
    },
    async publish({ name, resourceVersion }, type, to) {
      const now = timestamp(new Date());
      const times = { lastHeartbeatTime: now, lastTransitionTime: now };
      const condition = to === undefined ? { $patch: 'delete', type } : { type, status: 'True', ...to, ...times };
      const write = await api.patch(inJson(NODES), name, {
        contentType: STRATEGIC_MERGE_PATCH,
        body: { metadata: { resourceVersion }, status: { conditions: [condition] } },
        subresource: 'status',
        replayable: true,
      });
      return write.kind;
    },
    async record(node, recorded) {
      const event = toNodeEvent(node, recorded, { hostname: hostname(), now: () => new Date() });
      // Replayable, because the name is unique.
      await api.create(EVENTS, event, event.metadata?.name ?? '', { replayable: true });
    },
  };
}

/** By default, every authenticated user may ask; an administrator can revoke the role `system:basic-user`. */
async function ownerOf(api: Api, transport: Transport): Promise<MaintenanceOwner> {
  const answer = await api.sendReview(SELF_REVIEWS);
  if (answer.status >= 200 && answer.status < 300) return checked({ name: usernameIn(answer.text), from: 'server' });
  // Refused, or not served.
  if (![403, 404, 405].includes(answer.status)) {
    throw api.refusal({ verb: 'create', resource: SELF_REVIEWS, name: 'of this user' }, answer);
  }
  const { user } = transport.access;
  return checked({ name: user.as ?? user.name, from: 'kubeconfig' });
}

function usernameIn(text: string): string {
  const review = parsedJson(text);
  const status = isObject(review) && isObject(review.status) ? review.status : {};
  const { username } = isObject(status.userInfo) ? status.userInfo : {};
  return typeof username === 'string' ? username : '';
}

function checked(owner: MaintenanceOwner): MaintenanceOwner {
  const { name } = owner;
  if (name === '') {
    const next = 'log in as a named user, or use --as USER';
    throw new NodepoolError('cluster', 'a maintenance needs an owner, but your user name is unknown', next);
  }
  if (name.length <= MAX_OWNER_LENGTH) return owner;
  const problem = `a maintenance needs an owner, but your user name has ${name.length} characters`;
  throw new NodepoolError('cluster', problem, `use a user name of at most ${MAX_OWNER_LENGTH} characters`);
}

/** The condition that this program publishes for a node under maintenance. */
export interface PublishedMaintenance {
  reason: string;
  message: string;
}

/** The fields of a node that a publication of its maintenance needs. */
export interface NodeCondition extends Pick<Node, 'uid' | 'resourceVersion' | 'unschedulable' | 'maintenance'> {
  /** The condition of the type; undefined if the node has none. */
  condition: { status: string; reason: string; message: string } | undefined;
}

export interface MaintenancePort {
  /** The user according to the server; if it does not say, the kubeconfig. Throws if neither has a name. */
  owner(): Promise<MaintenanceOwner>;
  /** The server's git version, as `v1.36.3`. */
  serverVersion(): Promise<string>;
  /** Undefined if the node does not exist. */
  condition(name: string, type: string): Promise<NodeCondition | undefined>;
  /** Sets the condition to True, or removes it; guarded by resourceVersion. Other conditions stay. */
  publish(
    node: Pick<Node, 'name' | 'resourceVersion'>,
    type: string,
    to: PublishedMaintenance | undefined,
  ): Promise<'written' | 'conflict' | 'gone'>;
  /** Creates an Event about the node. */
  record(node: Pick<Node, 'name' | 'uid'>, event: PoolEvent): Promise<void>;
}
