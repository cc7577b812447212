/** Time, CPU and memory of a run of a program. */
import { rmSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bunOf } from '../../scripts/package/bun.ts';
import { hostTarget } from '../../scripts/package/targets.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { disableCompression } from '../cluster/credentials.ts';
import { run } from '../cluster/run.ts';
import type { Order, Took } from './launcher.ts';

const LAUNCHER = fileURLToPath(new URL('launcher.ts', import.meta.url));
const MAX_MS = 3_600_000;

export type Sample = Pick<Took, 'seconds' | 'cpu' | 'rss'>;

let bun: Promise<string> | undefined;

/** The runtime of the executable, by its path. Deleted when this process exits. */
export function ownBun(): Promise<string> {
  bun ??= unpackedBun();
  return bun;
}

async function unpackedBun(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'nodepool-bun-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return bunOf(hostTarget(), folder);
}

/** Discards the output. Throws when the program fails. */
export async function measure(order: Order): Promise<Sample> {
  const said = await run(await ownBun(), [LAUNCHER], {
    stdin: JSON.stringify(order),
    env: order.env,
    timeoutMs: MAX_MS,
  });
  if (said.code !== 0) throw new Error(`${LAUNCHER} ended with ${said.code}\n${said.stderr}`);
  const { code, stderr, seconds, cpu, rss }: Took = JSON.parse(said.stdout);
  if (code !== 0) throw new Error(`${order.command.join(' ')} ended with ${code}\n${stderr}`);
  return { seconds, cpu, rss };
}

/**
 * The environment of everything that is measured: a home of its own, where kubectl keeps what it discovered. Nothing of
 * the machine's set-up gets in; NODE_EXTRA_CA_CERTS alone would cost Bun 5 ms a start.
 *
 * @param compressed answers come as over a network; else as they are, for kubectl and for this program: on one machine
 * compressing them takes longer than sending them
 */
export async function measuredEnvironment(cluster: ControlPlane, compressed = false): Promise<Record<string, string>> {
  const home = join(cluster.dir, 'home');
  await mkdir(home, { recursive: true });
  const plain = join(home, 'kubeconfig');
  await copyFile(cluster.kubeconfig, plain);
  await disableCompression(plain);
  const { PATH = '' } = process.env;
  return { PATH, HOME: home, TMPDIR: home, KUBECONFIG: compressed ? cluster.kubeconfig : plain, NO_COLOR: '1' };
}
