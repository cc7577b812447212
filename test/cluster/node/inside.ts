/**
 * The first process in the namespaces of the test node (start.ts): sets up its network, starts containerd and the kubelet,
 * and ends with its stdin. Everything that they start and mount ends with it.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, openSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { APISERVER_SOCKET, NETWORK } from './config.ts';
import type { NodePlan } from './plan.ts';
import { POD_PROXY_SOCKET, servePodProxy } from './pod-proxy.ts';
import { joinSockets } from './sockets.ts';

const plan = JSON.parse(process.argv[2] ?? '') as NodePlan;
const { dir, programs } = plan;
const START_MS = 30_000;
const env = {
  PATH: [
    ...new Set([dirname(programs.containerd), dirname(programs.runc), '/usr/sbin', '/usr/bin', '/sbin', '/bin']),
  ].join(delimiter),
  HOME: dir,
};

process.stdin.resume().on('end', () => process.exit(0));

addInterface('loopback', 'lo', { type: 'loopback' });
// The pods find the API server at the address of the service "kubernetes", which kube-proxy forwards elsewhere.
const addresses = [NETWORK.service, NETWORK.node].map(address => ({ address: `${address}/32` }));
// A pair of virtual interfaces whose ends are both here, since kernels may lack dummy interfaces.
addInterface('bridge', 'node0', { type: 'bridge', bridge: 'node', ipam: { type: 'static', addresses } });
await forward(NETWORK.service, 443, join(dir, APISERVER_SOCKET));
await servePodProxy(join(dir, POD_PROXY_SOCKET));

start(programs.containerd, ['--config', join(dir, 'containerd.toml')], 'containerd.log');
await exists(join(dir, 'containerd.sock'));
start(programs.kubelet, plan.kubeletFlags, 'kubelet.log');
process.stdout.write('started\n');

/** Calls a network plugin for this namespace itself. */
function addInterface(plugin: string, name: string, config: object): void {
  const input = JSON.stringify({ cniVersion: '1.0.0', name: `node-${plugin}`, ...config });
  const { status, stdout } = spawnSync(join(plan.cniFolder, plugin), {
    input,
    env: {
      ...env,
      CNI_COMMAND: 'ADD',
      CNI_CONTAINERID: 'node',
      CNI_NETNS: '/proc/self/ns/net',
      CNI_NETNS_OVERRIDE: 'true',
      CNI_IFNAME: name,
      CNI_PATH: plan.cniFolder,
    },
  });
  if (status !== 0) throw new Error(`${plugin}: ${stdout}`);
}

/** The socket is in the file system, which reaches out of this network namespace. */
function forward(address: string, port: number, socket: string): Promise<void> {
  const server = createServer(near => joinSockets(near, connect(socket)));
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, address, resolve);
  });
}

function start(program: string, args: readonly string[], log: string): void {
  const output = openSync(join(dir, log), 'a');
  spawn(program, args, { stdio: ['ignore', output, output], env }).once('exit', (code, signal) => {
    process.stderr.write(`${program} ended: ${code ?? signal}\n`);
    process.exit(1);
  });
}

async function exists(path: string): Promise<void> {
  for (const end = Date.now() + START_MS; ; await sleep(50)) {
    if (existsSync(path)) return;
    if (Date.now() > end) throw new Error(`no ${path} after ${START_MS} ms`);
  }
}
