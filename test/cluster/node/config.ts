/** The configuration of containerd, of the kubelet and of the pods' network. */
import { join } from 'node:path';

export const PAUSE_IMAGE = 'localhost/pause:1';

/** A Unix socket in the node's folder, which leads to the API server. */
export const APISERVER_SOCKET = 'apiserver.sock';

/** Addresses inside of the node's own network namespace, which no other machine sees. */
export const NETWORK = { service: '10.0.0.1', node: '10.77.0.1', pods: '10.88.0.0/24' };

/** @param plugins the folder of the network plugins */
export function containerdConfig(dir: string, plugins: string): string {
  return `version = 3
root = "${join(dir, 'containerd')}"
state = "${join(dir, 'run')}"
[grpc]
  address = "${join(dir, 'containerd.sock')}"
[plugins."io.containerd.cri.v1.runtime"]
  # A root without CAP_SYS_RESOURCE may not lower the score.
  restrict_oom_score_adj = true
  # Else they are in /run/netns, where they stay when the node is killed.
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["${plugins}"]
    conf_dir = "${join(dir, 'cni')}"
# Its socket has a fixed path, which two nodes at once would both listen on.
[plugins."io.containerd.nri.v1.nri"]
  disable = true
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "${PAUSE_IMAGE}"
`;
}

/** @param cgroup the name of the group of control groups that the pods are in */
export function kubeletConfig(dir: string, cgroup: string): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: { anonymous: { enabled: false }, x509: { clientCAFile: join(dir, 'ca.crt') } },
    authorization: { mode: 'Webhook' },
    containerRuntimeEndpoint: `unix://${join(dir, 'containerd.sock')}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroup}`,
    failCgroupV1: false,
    failSwapOn: false,
    // The machine's resources are not the node's to reserve, nor its disks to clean.
    enforceNodeAllocatable: [],
    localStorageCapacityIsolation: false,
    imageGCHighThresholdPercent: 100,
    evictionHard: {
      'memory.available': '1Mi',
      'nodefs.available': '0%',
      'nodefs.inodesFree': '0%',
      'imagefs.available': '0%',
    },
    podLogsDir: join(dir, 'logs'),
    resolvConf: join(dir, 'resolv.conf'),
    // Reported sooner than every 5 minutes, for what the tests wait for.
    nodeStatusReportFrequency: '10s',
  };
}

export function networkConfig(dir: string): object {
  const ipam = {
    type: 'host-local',
    dataDir: join(dir, 'addresses'),
    ranges: [[{ subnet: NETWORK.pods }]],
    routes: [{ dst: '0.0.0.0/0' }],
  };
  return { cniVersion: '1.0.0', name: 'pods', plugins: [{ type: 'bridge', bridge: 'pods', isGateway: true, ipam }] };
}
