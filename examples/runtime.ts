/** What the examples share: a connection, a log, caches, a recorder, and shutdown by Ctrl-C. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { parseArgs } from 'node:util';
import { type Cluster, type Context, EventsV1Api, KubeConfig, type User } from '@kubernetes/client-node';
import { systemClock } from '../src/controller/clock.ts';
import { type Log, messageOf } from '../src/controller/log.ts';
import { Manager, type ManagerOptions } from '../src/controller/manager.ts';
import { Recorder } from '../src/controller/recorder.ts';
import { Reflector } from '../src/controller/reflector.ts';
import { type IndexFunction, Store } from '../src/controller/store.ts';
import { Connection, listWatch } from './client-node.ts';
import { eventSink } from './event-sink.ts';

/** As in kubectl-nodepool: debug lines from -v 4 on, requests from client-go's level on. */
const DEBUG_VERBOSITY = 4;
const REQUEST_VERBOSITY = 6;

/** The part of an object's metadata that the examples use. */
export interface Metadata {
  name: string;
  namespace?: string;
  uid: string;
  generation?: number;
  resourceVersion: string;
}

/** Of a name in several files of KUBECONFIG the first counts, as in kubectl. A KubeConfig refuses the second one. */
export class FirstWins extends KubeConfig {
  override mergeConfig(config: KubeConfig): void {
    super.mergeConfig(config, Boolean(this.currentContext));
  }
  override addCluster(cluster: Cluster): void {
    if (this.getCluster(cluster.name) === null) super.addCluster(cluster);
  }
  override addUser(user: User): void {
    if (this.getUser(user.name) === null) super.addUser(user);
  }
  override addContext(context: Context): void {
    if (this.getContextObject(context.name) === null) super.addContext(context);
  }
}

export interface Runtime {
  name: string;
  connection: Connection;
  log: Log;
}

/**
 * A connection as kubectl makes it, from `--kubeconfig`, `KUBECONFIG`, `~/.kube/config` or the pod's service
 * account. The log goes to stderr, a line an entry. `-v 4` shows debug entries, `-v 6` requests too.
 * @param name of the controller, for events and for the User-Agent
 */
export function open(name: string): Runtime {
  const { values } = parseArgs({
    options: { kubeconfig: { type: 'string' }, verbosity: { type: 'string', short: 'v', default: '0' } },
  });
  const verbosity = Number(values.verbosity);
  const write = (level: string, text: string) => {
    process.stderr.write(`${new Date().toISOString()} ${level.padEnd(7)} ${text.replaceAll('\n', ' ')}\n`);
  };
  const load = () => {
    const config = new FirstWins();
    if (values.kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(values.kubeconfig);
    return config;
  };
  const trace = (line: string) => {
    if (verbosity >= REQUEST_VERBOSITY) write('debug', line);
  };
  const log: Log = (level, message) => {
    if (level !== 'debug' || verbosity >= DEBUG_VERBOSITY) write(level, message);
  };
  return { name, connection: new Connection(load, name, trace), log };
}

/**
 * A cache of the objects of a resource.
 * @param path as `/apis/apps/v1/deployments`
 * @param keep picks the used fields of each object
 * @param query narrows it, as `{ labelSelector }`
 */
export function follow<T>(
  { connection, log }: Runtime,
  path: string,
  keep: (raw: T) => T,
  query: Record<string, string> = {},
  indices: Record<string, IndexFunction<T>> = {},
): Reflector<T> {
  return new Reflector<T>({
    name: path.slice(path.lastIndexOf('/') + 1),
    source: listWatch(connection, path, query),
    transform: raw => keep(raw as T),
    store: new Store<T>(indices),
    clock: systemClock,
    random: Math.random,
    log,
  });
}

/** Sends events to the log and to the API server. */
export function createRecorder({ name, connection, log }: Runtime): Recorder {
  return new Recorder({
    sink: eventSink(connection.client(EventsV1Api), name, `${name}-${hostname()}`),
    clock: systemClock,
    wall: () => new Date(),
    random: Math.random,
    newId: randomUUID,
    log,
  });
}

/** Runs until SIGINT or SIGTERM; a second one ends it at once. The exit code is 0 after a regular end. */
export async function run(
  { log }: Runtime,
  parts: Pick<ManagerOptions, 'caches' | 'controllers' | 'recorder'>,
): Promise<void> {
  const manager = new Manager({ ...parts, clock: systemClock, log });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => manager.stop());
  const end = await manager.run().catch((error: unknown) => {
    log('error', messageOf(error));
    return 'aborted' as const;
  });
  log('info', `the end: ${end}`);
  process.exit(end === 'stopped' ? 0 : 1);
}
