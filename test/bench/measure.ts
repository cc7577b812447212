/** What one run of a program takes: time, CPU, memory. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bunOf } from '../../scripts/package/bun.ts';
import { hostTarget } from '../../scripts/package/targets.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { run } from '../cluster/run.ts';
import type { Order, Took } from './launcher.ts';

const LAUNCHER = fileURLToPath(new URL('launcher.ts', import.meta.url));
const LONGEST_MS = 3_600_000;

export type Sample = Pick<Took, 'seconds' | 'cpu' | 'rss'>;

/** Its output is thrown away. Throws when it fails. */
export async function measure(order: Order): Promise<Sample> {
  const bun = await bunOf(hostTarget());
  const said = await run(bun, [LAUNCHER], { stdin: JSON.stringify(order), env: order.env, timeoutMs: LONGEST_MS });
  if (said.code !== 0) throw new Error(`${LAUNCHER} ended with ${said.code}\n${said.stderr}`);
  const { code, stderr, seconds, cpu, rss }: Took = JSON.parse(said.stdout);
  if (code !== 0) throw new Error(`${order.command.join(' ')} ended with ${code}\n${stderr}`);
  return { seconds, cpu, rss };
}

/**
 * The environment of everything that is measured: a home of its own, where kubectl keeps what it discovered. Nothing of
 * the machine's set-up gets in; NODE_EXTRA_CA_CERTS alone would cost Bun 5 ms a start.
 */
export async function measuredEnvironment(cluster: ControlPlane): Promise<Record<string, string>> {
  const home = join(cluster.dir, 'home');
  await mkdir(home, { recursive: true });
  const { PATH = '' } = process.env;
  return { PATH, HOME: home, TMPDIR: home, KUBECONFIG: cluster.kubeconfig, NO_COLOR: '1' };
}
