/** Random faults, one at a time, each with its end. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../cluster/control-plane.ts';
import type { Child } from './child.ts';
import { type Asked, type FaultProxy, isReconcileWrite, type Treatment } from './proxy.ts';
import type { Random } from './soak-churn.ts';
import { cutNextLine, forgeNextLine, holdWatches } from './streams.ts';
import { answerWith, delay, drop, hang, loseAnswer, throttle } from './treatments.ts';

export interface FaultDeps {
  proxy: FaultProxy;
  cluster: ControlPlane;
  random: Random;
  child: () => Child;
  /** Begins a new process, where the last one was killed. */
  restart: () => void;
  /** Nobody changes the cluster while it runs: the API server goes away. */
  alone: (work: () => Promise<void>) => Promise<void>;
}

/** Lasts as long as it says, at most 10 s, and leaves nothing behind. */
type Fault = (deps: FaultDeps, ms: number) => Promise<void>;

/** A share of the requests get the treatment. */
function some(share: number, treatment: Treatment, which: (asked: Asked) => boolean = () => true): Fault {
  return async ({ proxy, random }, ms) => {
    const undo = proxy.onRequest(asked => (which(asked) && random() < share ? treatment : undefined));
    await sleep(ms);
    undo();
  };
}

export const FAULTS: Record<string, Fault> = {
  late: some(0.5, delay(700)),
  dropped: some(0.3, drop),
  'answer lost': some(0.3, loseAnswer, isReconcileWrite),
  hanging: some(0.05, hang),
  'status 429': some(0.3, answerWith(429, 'slow down', { 'retry-after': '1' })),
  'status 500': some(0.3, answerWith(500, 'injected')),
  'status 503': some(0.3, answerWith(503, 'injected')),
  'status 409': some(0.5, answerWith(409, 'injected'), isReconcileWrite),
  slow: some(0.3, throttle(2_000)),
  cut: async ({ proxy }) => proxy.cut(),
  'half a line': ({ proxy, random }, ms) => within(ms, cutNextLine(proxy, random() < 0.5 ? 'RST' : 'FIN')),
  'no event': ({ proxy }, ms) => within(ms, forgeNextLine(proxy, '{"hello":"world"}\n')),
  'watches held': async ({ proxy }, ms) => {
    const held = holdWatches(proxy);
    await sleep(ms);
    held.release();
  },
  silence: async ({ proxy }, ms) => {
    const undo = proxy.silence();
    await sleep(ms);
    undo();
    // Those that were silenced stay so; a whole watch's time is the business of a test of its own.
    proxy.cut();
  },
  refused: async ({ proxy }, ms) => {
    await proxy.refuse();
    await sleep(ms);
    await proxy.accept();
  },
  halted: async ({ child }, ms) => {
    child().signal('SIGSTOP');
    await sleep(ms);
    child().signal('SIGCONT');
  },
  'API server restarted': ({ cluster, alone }) =>
    alone(async () => {
      await cluster.stopApiserver();
      await cluster.startApiserver();
    }),
};

/** Ends the flatness of memory: only in the first part of a soak. */
export const KILLED: Fault = async ({ child, restart }, ms) => {
  await child().end('SIGKILL');
  await sleep(ms / 5);
  restart();
};

/** A line may not come within the time: what waits for it then meets the next one. */
function within(ms: number, work: Promise<unknown>): Promise<void> {
  return Promise.race([work.then(() => {}), sleep(ms)]);
}
