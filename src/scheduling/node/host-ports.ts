/** Host ports that pods of one node share (nodeports of kube-scheduler, HostPortInfo of its framework). */
import type { RawPodSpec } from '../pod/raw-pod.ts';
import type { Reason } from '../reason.ts';
import type { HostPort } from '../types.ts';

const ANY = '0.0.0.0';
const NONE: readonly HostPort[] = [];

/** Of containers and sidecars: other init containers end before they could be in the way. */
export function hostPortsOf({
  containers = [],
  initContainers = [],
  hostNetwork = false,
}: RawPodSpec): readonly HostPort[] {
  let ports: HostPort[] | undefined;
  const add = (container: (typeof containers)[number]) => {
    for (const { containerPort, hostPort: asked = 0, hostIP = '', protocol = '' } of container.ports ?? []) {
      // The API server's default: in the network of the host, a port is one of the host.
      const hostPort = asked === 0 && hostNetwork ? (containerPort ?? 0) : asked;
      if (hostPort <= 0) continue;
      ports ??= [];
      ports.push({ port: `${protocol === '' ? 'TCP' : protocol}/${hostPort}`, ip: hostIP === '' ? ANY : hostIP });
    }
  };
  for (const container of initContainers) if (container.restartPolicy === 'Always') add(container);
  for (const container of containers) add(container);
  return ports ?? NONE;
}

/** Whether two pods with these ports cannot share a node. */
export function clashes(asked: readonly HostPort[], taken: readonly HostPort[]): HostPort | undefined {
  return asked.find(({ port, ip }) =>
    taken.some(other => other.port === port && (ip === ANY || other.ip === ANY || other.ip === ip)),
  );
}

export function judgePorts(asked: readonly HostPort[], taken: readonly HostPort[]): Reason | undefined {
  const clash = taken.length === 0 ? undefined : clashes(asked, taken);
  if (clash === undefined) return undefined;
  const words = "node(s) didn't have free ports for the requested pod ports";
  return { rule: 'hostPorts', words, detail: `${clash.port} is taken` };
}
