/** `reconcile --watch`: runs the controller manager and prints its state. */
import { randomBytes } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { EXIT } from '../../cli/errors.ts';
import type { Deps } from '../../cli/factory.ts';
import { createLog } from '../../cli/io.ts';
import { leaveSoon, onStopSignal } from '../../cli/signals.ts';
import { systemClock } from '../../controller/clock.ts';
import type { Manager, ManagerEnd } from '../../controller/manager.ts';
import { Registry } from '../../controller/metrics.ts';
import { standardMetrics } from '../../controller/standard-metrics.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { plural } from '../../nodepool/text.ts';
import { LEASE } from '../../nodepool/types.ts';
import { PoolMetrics } from './pool-metrics.ts';
import { type Server, type ServerOptions, startServers } from './servers.ts';
import { candidateIdentity, createWatch, type PoolWatchOptions, type WatchState } from './watch.ts';

interface ShowWatchOptions extends PoolWatchOptions, ServerOptions {
  leaderElect: boolean;
  leaderElectNamespace: string;
  logFormat: 'text' | 'json';
  verbosity: number;
}

const REDRAW_MS = 500;
/** Timeout of a login plugin: nobody may watch this process, so a hanging plugin must become an error. */
const LOGIN_LIMIT_MS = 60_000;

/** Runs until Ctrl-C or SIGTERM (a second one exits at once), or until the lease is lost. Returns the exit code. */
export async function showWatch(options: ShowWatchOptions, deps: Deps): Promise<number> {
  const { io } = deps;
  // Set before the caches are filled: V8 would otherwise use three times the heap for speed that is not needed here.
  setFlagsFromString('--optimize-for-size');
  const registry = new Registry();
  const metrics = standardMetrics(registry);
  const poolMetrics = new PoolMetrics(registry, { now: io.now, version: deps.version });
  const log = createLog(io, options.logFormat, options.verbosity);
  // Before the manager exists, the only POST checks permissions.
  let mayWrite = () => true;
  const connection = await deps.connect({
    concurrency: options.concurrency,
    onRequest: metrics.request,
    mayWrite: () => mayWrite(),
    loginLimitMs: LOGIN_LIMIT_MS,
    log,
  });
  // Reflectors retry forever; errors that the user has to fix (no access, no CRD) are reported at once instead.
  await connection.cluster.pools.list().catch((error: unknown) => {
    if (!(error instanceof NodepoolError && error.isTransient)) throw error;
    log('warning', `${error.oneLine}; retrying until the server answers`);
  });
  const newId = () => randomBytes(8).toString('hex');
  const live = await deps.progress(
    options.leaderElect ? 'Waiting for the caches and the lease' : 'Waiting for the caches',
  );
  let last = '';
  const create = () =>
    createWatch(options, {
      cluster: connection.cluster,
      pods: connection.pods,
      events: connection.events,
      lease: options.leaderElect
        ? {
            namespace: options.leaderElectNamespace,
            name: LEASE,
            port: connection.lease(options.leaderElectNamespace, LEASE),
          }
        : undefined,
      identity: candidateIdentity(newId),
      clock: systemClock,
      now: io.now,
      random: Math.random,
      newId,
      log,
      metrics,
      poolMetrics,
      onChanged({ pool, kind, status }) {
        last = `; last change: ${pool} ${kind === 'released' ? kind : (status?.status ?? 'nodes written')}`;
      },
    });
  let { manager, state } = create();
  mayWrite = () => manager.isLeader;
  const servers: Server[] = [];
  const redraw = setInterval(() => live.update(liveLine(manager, state(), last)), REDRAW_MS);
  const unsubscribe = onStopSignal(() => {
    clearInterval(redraw);
    live.update('Shutting down: finishing in-flight reconciles. Press Ctrl-C again to exit at once');
    manager.stop();
  });
  let end: ManagerEnd = 'aborted';
  try {
    const reviews = connection.readerReviews;
    await startServers(options, { isReady: () => manager.isReady, registry, reviews, log }, servers);
    for (end = await manager.run(); end === 'restored'; end = await manager.run()) {
      metrics.restored();
      log('warning', 'etcd was restored from a backup: clearing the caches and listing everything again');
      ({ manager, state } = create());
    }
    if (end === 'lost') log('error', 'lost the lease: another process may reconcile now');
    if (end === 'aborted') log('error', 'stopped before all reconciles were finished: run the command again to finish');
  } finally {
    leaveSoon();
    clearInterval(redraw);
    unsubscribe();
    live.stop();
    for (const server of servers) server.close();
  }
  if (end !== 'stopped') process.exit(EXIT.error);
  return EXIT.done;
}

function liveLine({ isReady, isLeader }: Manager, { pools, nodes, queued }: WatchState, last: string): string {
  const what = !isReady ? 'Waiting for the caches' : isLeader ? 'Watching' : 'Waiting for the lease';
  return `${what}: ${plural(pools, 'pool')}, ${plural(nodes, 'node')}; ${queued} queued${last}. Press Ctrl-C to stop`;
}
