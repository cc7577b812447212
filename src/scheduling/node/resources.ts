/** Resources of a node compared with the requests of its pods (noderesources of kube-scheduler). */
import type { RawPodSpec } from '../pod/raw-pod.ts';
import type { Requests } from '../pod/requests.ts';
import type { HostPort, UnfitReason } from '../types.ts';

export interface NodeCapacity {
  allocatable: Requests;
  requested: Requests;
  /** Unfinished pods on the node. */
  pods: number;
}

/** Every insufficient resource, `Too many pods` first. */
export function judgeResources(requests: Requests, { allocatable, requested, pods }: NodeCapacity): UnfitReason[] {
  const reasons: UnfitReason[] = [];
  const places = allocatable.get('pods') ?? 0n;
  if (BigInt(pods) + 1n > places) {
    reasons.push({ rule: 'resources', words: 'Too many pods', detail: `${pods} of ${places} pod slots are used` });
  }
  for (const [name, request] of requests) {
    const free = (allocatable.get(name) ?? 0n) - (requested.get(name) ?? 0n);
    if (request > free) {
      const short = { resource: name, requested: request, free };
      reasons.push({ rule: 'resources', words: `Insufficient ${name}`, detail: shortText(name, request, free), short });
    }
  }
  return reasons;
}

/** How many pods with these requests still fit. */
export function roomFor(requests: Requests, { allocatable, requested, pods }: NodeCapacity): number {
  let room = (allocatable.get('pods') ?? 0n) - BigInt(pods);
  for (const [name, request] of requests) {
    const free = (allocatable.get(name) ?? 0n) - (requested.get(name) ?? 0n);
    const fits = free < 0n ? 0n : free / request;
    if (fits < room) room = fits;
  }
  return room > 0n ? Number(room) : 0;
}

function shortText(name: string, requested: bigint, free: bigint): string {
  const shownFree = free < 0n ? 0n : free;
  const [requestedText, freeText] = amountTexts(name, requested, shownFree);
  return `${requestedText} requested, ${freeText} free`;
}

/** Two amounts to compare; CPU in cores, as different pools are compared too. */
export function amountTexts(name: string, a: bigint, b: bigint): [string, string] {
  if (name === 'cpu') return [`${Number(a) / 1000}`, `${Number(b) / 1000}`];
  return [amountText(name, a), amountText(name, b)];
}

/** `250m`, `3`, `1536Mi`. */
export function amountText(name: string, amount: bigint): string {
  if (name === 'cpu') return amount % 1000n === 0n ? `${amount / 1000n}` : `${amount}m`;
  if (name !== 'memory' && name !== 'ephemeral-storage' && !name.startsWith('hugepages-')) return `${amount}`;
  for (const [unit, size] of UNITS) if (amount >= size && amount % size === 0n) return `${amount / size}${unit}`;
  const rough = UNITS.find(([, size]) => amount >= size * 10n);
  return rough === undefined ? `${amount}` : `${amount / rough[1]}${rough[0]}`;
}

const UNITS: [string, bigint][] = [
  ['Gi', 1n << 30n],
  ['Mi', 1n << 20n],
  ['Ki', 1n << 10n],
];

// Host ports, which pods on one node share (nodeports of kube-scheduler, HostPortInfo of its framework).

const ANY = '0.0.0.0';
const NONE: readonly HostPort[] = [];

/** Of containers and sidecars: other init containers have ended before a conflict could matter. */
export function hostPortsOf({
  containers = [],
  initContainers = [],
  hostNetwork = false,
}: RawPodSpec): readonly HostPort[] {
  let ports: HostPort[] | undefined;
  const add = (container: (typeof containers)[number]) => {
    for (const { containerPort, hostPort: declaredPort = 0, hostIP = '', protocol = '' } of container.ports ?? []) {
      // The API server's default: with hostNetwork, a container port is a host port.
      const hostPort = declaredPort === 0 && hostNetwork ? (containerPort ?? 0) : declaredPort;
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
function clashes(requested: readonly HostPort[], taken: readonly HostPort[]): HostPort | undefined {
  return requested.find(({ port, ip }) =>
    taken.some(other => other.port === port && (ip === ANY || other.ip === ANY || other.ip === ip)),
  );
}

export function judgePorts(requested: readonly HostPort[], taken: readonly HostPort[]): UnfitReason | undefined {
  const clash = taken.length === 0 ? undefined : clashes(requested, taken);
  if (clash === undefined) return undefined;
  const words = "node(s) didn't have free ports for the requested pod ports";
  return { rule: 'hostPorts', words, detail: `${clash.port} is in use` };
}
