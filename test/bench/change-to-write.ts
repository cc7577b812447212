/** `reconcile --watch` under load: latency from a node's change to our write, and memory. */
import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Agent } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { barePatch } from './bare.ts';
import { nodeName } from './cluster.ts';
import { measuredEnvironment } from './measure.ts';

const CHANGER = 'changer/1.0';
/** A label that the pools of cluster.ts set, and that changes. */
const [LABEL, WANTED] = ['example.com/tier', 'gold'];

export interface Watching {
  pid: number;
  end(): Promise<void>;
}

/** Resolves once its caches have synced. */
export async function startWatch(cluster: ControlPlane, command: [string, ...string[]]): Promise<Watching> {
  const [program, ...args] = command;
  const env = await measuredEnvironment(cluster);
  const child = spawn(program, [...args, 'reconcile', '--watch'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  await new Promise<void>((resolve, reject) => {
    let log = '';
    child.stderr.setEncoding('utf8').on('data', text => {
      log += text;
      if (log.includes('caches have synced')) resolve();
    });
    child.once('exit', code => reject(new Error(`reconcile --watch ended with ${code}\n${log}`)));
  });
  return {
    pid: child.pid ?? 0,
    end: () =>
      new Promise(resolve => {
        child.removeAllListeners('exit').once('exit', () => resolve());
        child.kill('SIGINT');
      }),
  };
}

/** Starts the floor; returns a function that ends it. */
export async function startFloor({ server, ca, admin }: ControlPlane): Promise<() => Promise<void>> {
  const script = fileURLToPath(new URL('./bare-answers.ts', import.meta.url));
  const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify({ server, ca, ...admin, label: LABEL, wanted: WANTED }));
  await new Promise((resolve, reject) => {
    child.stdout.once('data', resolve);
    child.once('exit', code => reject(new Error(`bare-answers.ts ended with ${code}`)));
  });
  return () =>
    new Promise((resolve, reject) => {
      if (child.exitCode !== null) reject(new Error(`bare-answers.ts ended early, with ${child.exitCode}`));
      child.removeAllListeners('exit').once('exit', () => resolve());
      child.kill();
    });
}

/** Changes a label that the pools set, on node after node, at this rate. Resolves when all are done. */
export async function drift(cluster: ControlPlane, nodes: number, perSecond: number, seconds: number): Promise<void> {
  const { server, ca, admin } = cluster;
  const agent = new Agent({ keepAlive: true, ca, ...admin });
  const start = performance.now();
  const under: Promise<unknown>[] = [];
  for (let index = 0; index < perSecond * seconds; index++) {
    await sleep(Math.max(0, start + (index * 1000) / perSecond - performance.now()));
    const labels = { [LABEL]: `drift-${index}` };
    // The step does not divide the number of pools, so that successive nodes are in different pools.
    const name = nodeName((index * 7) % nodes);
    const change = barePatch(agent, server, name, { metadata: { labels } }, CHANGER);
    // Reported by Promise.all below.
    change.catch(() => {});
    under.push(change);
  }
  await Promise.all(under);
  agent.destroy();
}

export interface Answered {
  /** Milliseconds from the server's receipt of a change to that of our write, sorted. */
  times: number[];
  unanswered: number;
}

/** Reads the API server's audit log from that byte on. */
export async function answers({ auditLog = '' }: ControlPlane, since: number): Promise<Answered> {
  const changes = new Map<string, number>();
  const times: number[] = [];
  const log = await text(createReadStream(auditLog, { start: since }));
  const lines = log.split('\n').filter(line => line.includes('"patch"'));
  const events = lines.map(line => JSON.parse(line)).filter(({ objectRef }) => objectRef?.resource === 'nodes');
  const received = (event: { requestReceivedTimestamp: string }) => microseconds(event.requestReceivedTimestamp);
  for (const event of events.sort((a, b) => received(a) - received(b))) {
    const { name } = event.objectRef;
    const changed = changes.get(name);
    if (event.userAgent === CHANGER) changes.set(name, received(event));
    else if (changed !== undefined && event.responseStatus.code === 200) {
      times.push((received(event) - changed) / 1000);
      changes.delete(name);
    }
  }
  return { times: times.sort((a, b) => a - b), unanswered: changes.size };
}

/** Bytes in the audit log, to read on from later. */
export async function auditSize({ auditLog = '' }: ControlPlane): Promise<number> {
  return (await stat(auditLog)).size;
}

/** Of an RFC 3339 time with six digits; Date has three. */
function microseconds(time: string): number {
  const [seconds = '', fraction = '0Z'] = time.split('.');
  return Date.parse(`${seconds}Z`) * 1000 + Number(fraction.slice(0, -1).padEnd(6, '0'));
}
