/** The resources of the Prometheus operator, for a server without the operator. */
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { raw } from '../cluster/raw.ts';
import { eventually } from '../e2e/watching.ts';

const MODULE = 'github.com/prometheus-operator/prometheus-operator';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const GROUP = '/apis/monitoring.coreos.com/v1';

/** Why the operator's CRDs cannot be had here; undefined if they can. */
export function monitoringObstacle(): string | undefined {
  return spawnSync('go', ['version']).status === 0 ? undefined : "the operator's CRDs are in a Go module: install Go";
}

/** Installs the CRDs that the operator's release has. Resolves when the server serves them. */
export async function installMonitoring(cluster: ControlPlane): Promise<void> {
  const folder = moduleFolder();
  for (const resource of ['servicemonitors', 'prometheusrules']) {
    const file = join(folder, 'example/prometheus-operator-crd', `monitoring.coreos.com_${resource}.yaml`);
    await raw(cluster).expect('POST', CRDS, load(await readFile(file, 'utf8')));
    await eventually(
      `${resource} are served`,
      async () => (await raw(cluster).request('GET', `${GROUP}/${resource}`)).status === 200,
    );
  }
}

/** Pinned in go/monitoring; go downloads it once, and checks its hash. */
function moduleFolder(): string {
  const cwd = new URL('../cluster/go/monitoring/', import.meta.url);
  const env = { ...process.env, GOWORK: 'off' };
  const { status, stdout, stderr } = spawnSync('go', ['mod', 'download', '-json', MODULE], {
    cwd,
    env,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`go mod download ${MODULE}: ${stdout}${stderr}`);
  return (JSON.parse(stdout) as { Dir: string }).Dir;
}
