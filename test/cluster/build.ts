/** Builds programs from the Go modules pinned under go/. */
import { spawn } from 'node:child_process';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { startWatcher, type Watcher } from './daemon.ts';
import { type Binary, programOf, type VERSIONS, type Wanted } from './programs.ts';
import { type ProgressStream, step } from './progress.ts';

const VERSION_PACKAGE = 'k8s.io/component-base/version';
const CONTAINERD = 'github.com/containerd/containerd/v2/cmd';
/** Snapshotters that need C libraries. */
const CONTAINERD_TAGS = 'no_btrfs,no_devmapper,no_zfs';
const CNI = 'github.com/containernetworking/plugins/plugins';
/** Without service discovery, whose clients of all clouds take most of the build. */
const PROMETHEUS_TAGS = 'remove_all_sd';
const ERROR_LINES = 20;

/** The module folder under go/ and the package of each program, its build tags, and its file of versions if that is not go.mod. */
const SOURCES: Record<keyof typeof VERSIONS, { module: string; package: string; tags?: string; versions?: string }> = {
  'kube-apiserver': { module: 'kubernetes', package: 'k8s.io/kubernetes/cmd/kube-apiserver' },
  kubectl: { module: 'kubernetes', package: 'k8s.io/kubernetes/cmd/kubectl' },
  'kube-controller-manager': { module: 'kubernetes', package: 'k8s.io/kubernetes/cmd/kube-controller-manager' },
  'kube-scheduler': { module: 'kubernetes', package: 'k8s.io/kubernetes/cmd/kube-scheduler' },
  etcd: { module: 'etcd', package: 'go.etcd.io/etcd/server/v3' },
  kubelet: { module: 'kubernetes', package: 'k8s.io/kubernetes/cmd/kubelet' },
  containerd: { module: 'containerd', package: `${CONTAINERD}/containerd`, tags: CONTAINERD_TAGS },
  'containerd-shim-runc-v2': {
    module: 'containerd',
    package: `${CONTAINERD}/containerd-shim-runc-v2`,
    tags: CONTAINERD_TAGS,
  },
  ctr: { module: 'containerd', package: `${CONTAINERD}/ctr`, tags: CONTAINERD_TAGS },
  bridge: { module: 'cni', package: `${CNI}/main/bridge` },
  'host-local': { module: 'cni', package: `${CNI}/ipam/host-local` },
  loopback: { module: 'cni', package: `${CNI}/main/loopback` },
  static: { module: 'cni', package: `${CNI}/ipam/static` },
  pause: { module: 'image', package: './pause' },
  kwok: { module: 'kwok', package: 'sigs.k8s.io/kwok/cmd/kwok' },
  helm: { module: 'helm', package: 'helm.sh/helm/v4/cmd/helm' },
  krew: { module: 'krew', package: 'sigs.k8s.io/krew/cmd/krew' },
  'validate-krew-manifest': { module: 'krew', package: 'sigs.k8s.io/krew/cmd/validate-krew-manifest' },
  'argocd-health': { module: 'argocd', package: '.' },
  kstatus: { module: 'kstatus', package: '.' },
  promtool: { module: 'prometheus', package: 'github.com/prometheus/prometheus/cmd/promtool', tags: PROMETHEUS_TAGS },
  oras: { module: 'image', package: 'oras.land/oras/cmd/oras' },
  registry: { module: 'image', package: '.' },
  'completion-1.30': { module: 'completion', package: '.', versions: 'kubectl-1.30.mod' },
  'completion-1.36': { module: 'completion', package: '.' },
};

/** Without Go in the PATH it does nothing. A failing build throws, with the end of what Go said. */
export async function buildFromSource(wanted: readonly Wanted[], progress: ProgressStream): Promise<void> {
  if ((await go(['version'])).code !== 0) return;
  // Short builds first, so that the progress lines start to move.
  const order = [...wanted].sort((a, b) => Number(a.name !== 'etcd') - Number(b.name !== 'etcd'));
  for (const together of Map.groupBy(order, buildKey).values()) {
    const names = together.map(({ name }) => name).join(', ');
    await step(progress, `building ${names} ${together[0]?.version} from source (minutes, once)`, () =>
      build(together),
    );
  }
}

/** Programs of one key are built at once: one is linked, on one core, while another is compiled. */
function buildKey({ name, version }: Wanted): string {
  const { module, tags, versions, package: path } = sourceOf(name);
  // Go names each of several programs by its package.
  const alone = basename(path) === programOf(name).program ? '' : name;
  return [module, version, tags, versions, alone].join(' ');
}

/** The older minor versions of Kubernetes have files of versions of their own. */
function sourceOf(name: Binary) {
  const { program, minor } = programOf(name);
  return { ...SOURCES[program], ...(minor === undefined ? {} : { versions: `${minor}.mod` }) };
}

/** @param together of one key */
async function build(together: readonly Wanted[]): Promise<void> {
  const [first] = together as [Wanted];
  const { version } = first;
  const { module, tags, versions } = sourceOf(first.name);
  const packages = together.map(({ name }) => sourceOf(name).package);
  const [major = '', minor = ''] = version.slice(1).split('.');
  const flags = ['-s', '-w'];
  // Without its version kubectl refuses to compare itself with the server.
  if (module === 'kubernetes') {
    const values = [`gitVersion=${version}`, `gitMajor=${major}`, `gitMinor=${minor}`];
    flags.push(...values.map(value => `-X ${VERSION_PACKAGE}.${value}`));
  }
  const folder = await mkdtemp(`${first.path}.build-`);
  const output = ({ name }: Wanted) => join(folder, together.length === 1 ? name : programOf(name).program);
  const watcher = startWatcher(folder);
  const args = [
    // The linker drops debug information (-s -w): not made, it saves a sixth of the build.
    ...['build', '-mod=readonly', '-trimpath', '-gcflags=all=-dwarf=false'],
    ...(versions === undefined ? [] : [`-modfile=${versions}`]),
    ...(tags === undefined ? [] : ['-tags', tags]),
    ...['-ldflags', flags.join(' ')],
    ...['-o', together.length === 1 ? output(first) : `${folder}/`],
    ...packages,
  ];
  const built = await go(args, { module, folder, watcher });
  if (built.code === 0) for (const one of together) await rename(output(one), one.path);
  await watcher.release();
  await rm(folder, { recursive: true, force: true });
  if (built.code === 0) return;
  const tail = built.stderr.trimEnd().split('\n').slice(-ERROR_LINES).join('\n');
  throw new Error(`go build of ${packages.join(', ')} failed:\n${tail}`);
}

function go(
  args: string[],
  where?: { module: string; folder: string; watcher: Watcher },
): Promise<{ code: number; stderr: string }> {
  const env = {
    ...process.env,
    CGO_ENABLED: '0',
    GOWORK: 'off',
    ...(where && { GOTMPDIR: where.folder }),
  };
  const cwd = where && new URL(`go/${where.module}/`, import.meta.url);
  return new Promise(resolve => {
    const child = spawn('go', args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
    if (child.pid !== undefined) where?.watcher.watch(child.pid);
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', text => {
      stderr += text;
    });
    child.on('error', error => resolve({ code: 127, stderr: error.message }));
    child.on('close', code => resolve({ code: code ?? 1, stderr }));
  });
}
