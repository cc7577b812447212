/** Every version of nodes and pools in etcd, in its order, also those that existed only for a moment. */
import { decodeEnvelope, nodeDecoder } from '../../src/kube/protobuf/objects.ts';
import { BORN_ANNOTATION, type NodePoolSpec, RECORD_ANNOTATION, type Taint } from '../../src/nodepool/types.ts';
import { eventually } from '../e2e/watching.ts';
import { follow } from './etcd.ts';
import { taintId } from './model.ts';

const NODES = '/registry/minions';
const POOLS = '/registry/nodes.lailin.xyz/nodepools';

/** The record or the birth record, as JSON. */
export interface Recorded {
  pool?: string;
  startup?: Record<string, string | null>;
  changed?: string;
  rollout?: string;
  draining?: Record<string, string>;
  displaced?: object;
}

export interface NodeState {
  uid: string;
  labels: Record<string, string>;
  /** Value by key:Effect. */
  taints: Map<string, string>;
  /** Of those that were asked for. */
  annotations: Record<string, string>;
  record: Recorded | undefined;
  birthRecord: Recorded | undefined;
}

export interface PoolState {
  uid: string;
  spec: NodePoolSpec;
  isDeleted: boolean;
}

export interface Version<T> {
  /** Of the whole store. */
  revision: number;
  /** When the test saw it, in milliseconds. */
  at: number;
  name: string;
  /** Undefined: it is gone. */
  state: T | undefined;
}

export interface History {
  nodes(): Version<NodeState>[];
  pools(): Version<PoolState>[];
  /** Resolves when it has seen a node in that version or a later one. */
  sees(resourceVersion: string): Promise<void>;
  end(): void;
}

/** Begins to listen. @param etcd http://HOST:PORT @param annotations keys that are kept besides the record and the birth record */
export async function listen(etcd: string, annotations: readonly string[] = []): Promise<History> {
  const decode = nodeDecoder(new Set(annotations));
  const [nodes, pools]: [Version<NodeState>[], Version<PoolState>[]] = [[], []];
  const last = new Map<string, string>();
  let newest = 0;
  const ends = [
    await follow(etcd, NODES, ({ key, value, revision }) => {
      newest = revision;
      const name = key.slice(NODES.length + 1);
      const state = value && nodeState(decodeEnvelope(value, decode) as WireNode);
      // Heartbeats are most of the versions.
      const text = JSON.stringify(state && { ...state, taints: [...state.taints] });
      if (last.get(name) === text) return;
      last.set(name, text);
      nodes.push({ revision, at: Date.now(), name, state });
    }),
    await follow(etcd, POOLS, ({ key, value, revision }) => {
      const state = value && poolState(JSON.parse(value.toString()));
      pools.push({ revision, at: Date.now(), name: key.slice(POOLS.length + 1), state });
    }),
  ];
  return {
    nodes: () => nodes,
    pools: () => pools,
    sees: version => eventually(`etcd's history has version ${version}`, () => newest >= Number(version)),
    end() {
      for (const end of ends) end();
    },
  };
}

interface WireNode {
  metadata: { uid: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  spec?: { taints?: Taint[] };
}

function nodeState({ metadata, spec }: WireNode): NodeState {
  const { [RECORD_ANNOTATION]: record, [BORN_ANNOTATION]: birth, ...annotations } = metadata.annotations ?? {};
  return {
    uid: metadata.uid,
    labels: metadata.labels ?? {},
    taints: new Map((spec?.taints ?? []).map(taint => [taintId(taint), taint.value ?? ''])),
    annotations,
    record: record === undefined ? undefined : JSON.parse(record),
    birthRecord: birth === undefined ? undefined : JSON.parse(birth),
  };
}

function poolState(pool: { metadata: { uid: string; deletionTimestamp?: string }; spec?: NodePoolSpec }): PoolState {
  const { metadata, spec = {} } = pool;
  return { uid: metadata.uid, spec, isDeleted: metadata.deletionTimestamp !== undefined };
}

/** The pool whose node it is: by its record, else by its birth record. */
export function holderOf({ record, birthRecord }: NodeState): string | undefined {
  return (record ?? birthRecord)?.pool;
}
