/** What the examples share: a connection, a log, caches, a recorder, and an end by Ctrl-C. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { parseArgs } from 'node:util';
import { systemClock } from '../src/controller/clock.ts';
import { type Log, messageOf } from '../src/controller/log.ts';
import { Manager, type ManagerOptions } from '../src/controller/manager.ts';
import { Recorder } from '../src/controller/recorder.ts';
import { Reflector } from '../src/controller/reflector.ts';
import { type IndexFunction, Store } from '../src/controller/store.ts';
import { loadCredentials } from '../src/kube/auth/credentials.ts';
import { loadAccess } from '../src/kube/auth/kubeconfig.ts';
import { Api } from '../src/kube/resources/api.ts';
import { eventSink } from '../src/kube/resources/event-sink.ts';
import type { Resource } from '../src/kube/resources/resource.ts';
import { listWatch } from '../src/kube/resources/watch.ts';
import { Transport } from '../src/kube/transport/transport.ts';

/** As in the product: debug lines from -v 4 on; client-go's numbers for requests, 6 and 8. */
const DEBUG_VERBOSITY = 4;

/** The part of an object's metadata that the examples use. */
export interface Metadata {
  name: string;
  namespace?: string;
  uid: string;
  generation?: number;
  resourceVersion: string;
}

export interface Runtime {
  name: string;
  transport: Transport;
  api: Api;
  log: Log;
}

/**
 * A connection as kubectl would make it, told by `--kubeconfig`, `KUBECONFIG` or the pod's service account. The log goes
 * to stderr, a line an entry. `-v 4` shows debug entries, `-v 6` requests too.
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
  const access = loadAccess({
    ...(values.kubeconfig === undefined ? {} : { kubeconfig: values.kubeconfig }),
    env: process.env,
  });
  const transport = new Transport({
    access,
    credentials: () => loadCredentials(access, { env: process.env }),
    userAgent: name,
    env: process.env,
    clock: systemClock,
    log: (level, text) => level <= verbosity && write('debug', text()),
  });
  const log: Log = (level, message) => {
    if (level !== 'debug' || verbosity >= DEBUG_VERBOSITY) write(level, message);
  };
  return { name, transport, api: new Api(transport, () => new Date()), log };
}

/** A cache of the objects of a resource; `keep` picks of each what is used. `query` narrows it, as `{ labelSelector }`. */
export function follow<T>(
  { transport, log }: Runtime,
  resource: Resource,
  keep: (raw: T) => T,
  query: Record<string, string> = {},
  indices: Record<string, IndexFunction<T>> = {},
): Reflector<T> {
  return new Reflector<T>({
    name: resource.plural,
    source: listWatch(transport, resource, query),
    transform: raw => keep(raw as T),
    store: new Store<T>(indices),
    clock: systemClock,
    random: Math.random,
    log,
  });
}

/** Events go to the log and to the API server. */
export function createRecorder({ name, transport, log }: Runtime): Recorder {
  return new Recorder({
    sink: eventSink(transport, name, `${name}-${hostname()}`),
    clock: systemClock,
    wall: () => new Date(),
    random: Math.random,
    newId: randomUUID,
    log,
  });
}

/** Runs until SIGINT or SIGTERM; a second one ends it at once. The exit code is 0 when everything ended as it should. */
export async function run(
  { transport, log }: Runtime,
  parts: Pick<ManagerOptions, 'caches' | 'controllers' | 'recorder'>,
): Promise<void> {
  const manager = new Manager({ ...parts, clock: systemClock, log });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => manager.stop());
  const end = await manager.run().catch((error: unknown) => {
    log('error', messageOf(error));
    return 'aborted' as const;
  });
  transport.close();
  log('info', `the end: ${end}`);
  process.exit(end === 'stopped' ? 0 : 1);
}
