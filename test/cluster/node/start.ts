/**
 * A real node beside a control plane: kubelet, containerd and runc, in network, process and mount namespaces of their own,
 * so that nothing of them stays on the machine. Needs root on Linux, and runc of Debian 12.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type DebianPackage, PackageUnavailable, unpackDebian } from '../../../scripts/package/debian.ts';
import { copyGlibc } from '../../../scripts/package/glibc.ts';
import { mustRun } from '../../../scripts/package/must-run.ts';
import { hostTarget } from '../../../scripts/package/targets.ts';
import { ensureBinaries } from '../binaries.ts';
import { clientCertificate } from '../certificates.ts';
import type { ControlPlane } from '../control-plane.ts';
import { writeKubeconfig } from '../credentials.ts';
import { NODE_BINARIES } from './binaries.ts';
import { canMakeCgroups, makeCgroups } from './cgroups.ts';
import { APISERVER_SOCKET, containerdConfig, kubeletConfig, NETWORK, networkConfig } from './config.ts';
import { pauseImage } from './images.ts';
import type { NodePlan } from './plan.ts';
import { openPodProxy, POD_PROXY_SOCKET, type PodProxy } from './pod-proxy.ts';
import { joinSockets } from './sockets.ts';

const RUNC: Record<'amd64' | 'arm64', Omit<DebianPackage, 'arch'>> = {
  amd64: {
    name: 'runc',
    version: '1.1.5+ds1-1+deb12u1',
    sha256: 'a00351f8c0318de0b424ecf5cd0fdb69880a89f3511cae4f6fff7de3e57881c5',
  },
  arm64: {
    name: 'runc',
    version: '1.1.5+ds1-1+deb12u1',
    sha256: '9cd43580a5e01bbcb57b662aa94df63914ffde088e9f739324cf0d6fb87c38c0',
  },
};

const NAMESPACES = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
const LOG_LINES = 40;
/** Time, stream and whether the line is whole, which containerd writes before each line. */
const CRI_PREFIX = /^\S+ (stdout|stderr) [FP] /gm;

export interface RealNode {
  name: string;
  /** Makes the image of an OCI archive known to the node. */
  importImage(archive: string): Promise<void>;
  tagImage(name: string, other: string): Promise<void>;
  /** Kills the process of a container, by the ID in its pod's status (containerd://ID). */
  kill(container: string): Promise<void>;
  /** Whether such a container has a process. */
  isRunning(container: string): Promise<boolean>;
  /** The URL of an HTTP proxy that reaches its pods by their addresses. */
  podProxy(): Promise<string>;
  /** What the containers of the pod wrote. */
  logs(pod: string): Promise<string>;
  /** The ends of the logs of kubelet and containerd. */
  report(): Promise<string>;
  /** Resolves when the whole node is gone. May be called again. */
  stop(): Promise<void>;
}

/** Why no real node can be started here; undefined if it can. */
export async function nodeObstacle(): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'a real node needs root on Linux';
  const folder = await mkdtemp(join(tmpdir(), 'nodepool-runc-'));
  const refused = await mustRun('unshare', [...NAMESPACES, 'true'], { cwd: '/' }).catch(
    (error: Error) => error.message.trimEnd().split('\n').at(-1) ?? '',
  );
  try {
    if (refused !== '') return `a real node needs namespaces: ${refused}`;
    const cgroup = basename(folder);
    if (!(await canMakeCgroups(cgroup))) return 'a real node needs control groups that it may write';
    await unpackRunc(folder);
    // The image of the controller has it.
    await copyGlibc(hostTarget().arch, folder);
    return undefined;
  } catch (error) {
    if (error instanceof PackageUnavailable) return error.message;
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Starts the node. It registers when the API server answers. Nothing of it outlives this process. */
export async function startNode(cluster: ControlPlane, name: string): Promise<RealNode> {
  const programs = await ensureBinaries(NODE_BINARIES);
  const dir = await mkdtemp(join(tmpdir(), 'nodepool-node-'));
  const cgroup = basename(dir);
  const removeRest = startRemover(dir, cgroup);
  const bridge = await forwardSocket(join(dir, APISERVER_SOCKET), Number(new URL(cluster.server).port));
  await makeCgroups(cgroup);
  await unpackRunc(await made(dir, 'runc'));
  await writeConfigs(cluster, dir, name, cgroup, dirname(programs.bridge));
  const plan: NodePlan = {
    dir,
    programs: { ...programs, runc: join(dir, 'runc/usr/sbin/runc') },
    cniFolder: dirname(programs.bridge),
    kubeletFlags: [
      `--config=${join(dir, 'kubelet.json')}`,
      `--kubeconfig=${join(dir, 'kubeconfig')}`,
      `--hostname-override=${name}`,
      `--root-dir=${join(dir, 'kubelet')}`,
      `--cert-dir=${join(dir, 'certs')}`,
      `--node-ip=${NETWORK.node}`,
    ],
  };
  const log = openSync(join(dir, 'node.log'), 'a');
  // Detached: Ctrl-C ends this process, and by that both.
  const child = spawn('unshare', [...NAMESPACES, process.execPath, pathOf('inside.ts'), JSON.stringify(plan)], {
    stdio: ['pipe', 'pipe', log],
    detached: true,
  });
  closeSync(log);
  const gone = once(child, 'exit');
  let proxy: PodProxy | undefined;
  const stop = async () => {
    child.stdin?.end();
    await gone;
    bridge.close();
    proxy?.close();
    await removeRest();
  };
  const report = () => ends(dir, ['node.log', 'kubelet.log', 'containerd.log']);
  const ctr = (...args: string[]) =>
    mustRun(programs.ctr, ['--address', join(dir, 'containerd.sock'), '--namespace', 'k8s.io', ...args], { cwd: dir });
  const importImage = async (archive: string) => void (await ctr('images', 'import', archive));
  try {
    await Promise.race([
      once(child.stdout as Readable, 'data'),
      gone.then(() => Promise.reject(new Error('the node ended'))),
    ]);
    await importImage(await pauseImage(programs.pause, hostTarget().arch, await made(dir, 'pause')));
  } catch (error) {
    const why = `${(error as Error).message}\n${await report()}`;
    await stop();
    throw new Error(`the node did not start: ${why}`, { cause: error });
  }
  return {
    name,
    importImage,
    tagImage: async (image, other) => void (await ctr('images', 'tag', image, other)),
    kill: async container => void (await ctr('tasks', 'kill', '--signal', 'SIGKILL', idOf(container))),
    isRunning: async container => (await ctr('tasks', 'list', '--quiet')).split('\n').includes(idOf(container)),
    podProxy: async () => {
      proxy ??= await openPodProxy(join(dir, POD_PROXY_SOCKET));
      return proxy.url;
    },
    logs: pod => podLogs(join(dir, 'logs'), pod),
    report,
    stop,
  };
}

/** Removes the folder and the control groups when this process ends, however it ends, or by the function that it returns. */
function startRemover(dir: string, cgroup: string): () => Promise<void> {
  const child = spawn(process.execPath, [pathOf('remove-node.ts'), dir, cgroup], {
    stdio: ['pipe', 'ignore', 'inherit'],
    detached: true,
    cwd: '/',
  });
  const gone = once(child, 'exit');
  child.unref();
  return async () => {
    child.ref();
    child.stdin.end();
    const [code] = await gone;
    if (code !== 0) throw new Error(`of the node in ${dir}, files or control groups are left`);
  };
}

const idOf = (container: string) => container.replace(/^.*:\/\//, '');
const pathOf = (program: string) => fileURLToPath(new URL(program, import.meta.url));

async function writeConfigs(
  cluster: ControlPlane,
  dir: string,
  name: string,
  cgroup: string,
  plugins: string,
): Promise<void> {
  const kubelet = clientCertificate(cluster.authority, `system:node:${name}`, ['system:nodes']);
  await writeKubeconfig(join(dir, 'kubeconfig'), `https://${NETWORK.service}`, cluster.ca, kubelet);
  await writeFile(join(dir, 'ca.crt'), cluster.ca);
  // An address that nobody has: the pods need no names.
  await writeFile(join(dir, 'resolv.conf'), 'nameserver 192.0.2.1\n');
  await writeFile(join(dir, 'containerd.toml'), containerdConfig(dir, plugins));
  await writeFile(join(dir, 'kubelet.json'), JSON.stringify(kubeletConfig(dir, cgroup)));
  await writeFile(join(await made(dir, 'cni'), 'pods.conflist'), JSON.stringify(networkConfig(dir)));
}

async function unpackRunc(folder: string): Promise<void> {
  const { arch } = hostTarget();
  await unpackDebian({ ...RUNC[arch], arch }, folder);
}

/** A Unix socket that leads to the API server on loopback, which the node's network namespace does not have. */
async function forwardSocket(path: string, port: number): Promise<Server> {
  const server = createServer(near => joinSockets(near, connect(port, '127.0.0.1')));
  await once(server.listen(path), 'listening');
  return server;
}

async function podLogs(folder: string, pod: string): Promise<string> {
  const files = (await readdir(folder, { recursive: true })).filter(
    path => path.includes(`_${pod}_`) && path.endsWith('.log'),
  );
  const texts = await Promise.all(files.sort().map(file => readFile(join(folder, file), 'utf8')));
  return texts.join('').replaceAll(CRI_PREFIX, '');
}

async function ends(dir: string, files: readonly string[]): Promise<string> {
  const tail = async (file: string) =>
    (await readFile(join(dir, file), 'utf8').catch(() => '')).split('\n').slice(-LOG_LINES).join('\n');
  return (await Promise.all(files.map(async file => `${file}:\n${await tail(file)}`))).join('\n');
}

async function made(...path: string[]): Promise<string> {
  const folder = join(...path);
  await mkdir(folder, { recursive: true });
  return folder;
}
