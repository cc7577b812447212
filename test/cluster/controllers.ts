/**
 * Controllers beside a control plane: kube-controller-manager, kube-scheduler, and kwok as the kubelet of every simulated node.
 * Pods run as far as the API shows it.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureBinaries } from './binaries.ts';
import type { ControlPlane } from './control-plane.ts';
import { type Daemon, startDaemon, startWatcher } from './daemon.ts';
import { SIMULATED } from './nodes.ts';
import { raw } from './raw.ts';

const READY_MS = 60_000;
const POLL_MS = 50;
const GRACE_MS = 500;
/** An object that the controller manager creates first in a new cluster. */
const SIGN_OF_LIFE = '/api/v1/namespaces/default/serviceaccounts/default';

/** For kwok: every node is ready; a pod that has a node runs and is ready, with the annotation start-delay so much later; one that is deleted is gone. */
const STAGES = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: node
spec:
  resourceRef: {apiGroup: v1, kind: Node}
  selector:
    matchExpressions:
    - {key: '.status.conditions.[] | select(.type == "Ready") | .status', operator: NotIn, values: ["True"]}
  next:
    statusTemplate: |
      conditions:
      - type: Ready
        status: "True"
        reason: KubeletReady
        lastHeartbeatTime: {{ Now | Quote }}
        lastTransitionTime: {{ Now | Quote }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: run
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - {key: .status.phase, operator: In, values: [Pending]}
  delay:
    durationMilliseconds: 0
    durationFrom: {expressionFrom: '.metadata.annotations["start-delay"]'}
  next:
    statusTemplate: |
      phase: Running
      startTime: {{ Now | Quote }}
      conditions:
      {{ range $type := list "PodReadyToStartContainers" "Initialized" "ContainersReady" "Ready" }}
      - type: {{ $type }}
        status: "True"
        lastTransitionTime: {{ Now | Quote }}
      {{ end }}
      containerStatuses:
      {{ range .spec.containers }}
      - name: {{ .name | Quote }}
        image: {{ .image | Quote }}
        ready: true
        restartCount: 0
        state:
          running:
            startedAt: {{ Now | Quote }}
      {{ end }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: delete
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: Exists}
  next:
    delete: true
`;

const VOLUME_BINDER = 'persistentvolume-binder-controller';

/** Call ensureBinaries for these where it may take minutes. */
export const CONTROLLER_BINARIES = ['kube-controller-manager', 'kube-scheduler', 'kwok'] as const;

export interface Controllers {
  /** Before the control plane's own stop(). */
  stop(): Promise<void>;
  /** Keeps them running after this process; returns the shell command that ends them. */
  keep(): Promise<string>;
}

export interface ControllersOptions {
  /** Only a scheduler and what binds volumes: nothing else changes nodes or pods. */
  schedulerOnly?: boolean;
}

/**
 * Resolves when the controller manager works. They never outlive this process; failing to start, it throws with the end of the log.
 */
export async function startControllers(
  cluster: ControlPlane,
  { schedulerOnly = false }: ControllersOptions = {},
): Promise<Controllers> {
  const names = CONTROLLER_BINARIES.filter(name => name !== 'kwok' || !schedulerOnly);
  const programs = await ensureBinaries(CONTROLLER_BINARIES);
  const dir = await mkdtemp(join(tmpdir(), 'nodepool-controllers-'));
  const watcher = startWatcher(dir);
  const daemons: Daemon[] = [];
  const stop = async () => {
    await Promise.all(daemons.map(daemon => daemon.stop(GRACE_MS)));
    await watcher.release();
    await rm(dir, { recursive: true, force: true });
  };
  const keep = async () => {
    await watcher.release();
    return `kill -9 ${daemons.map(({ pid }) => pid).join(' ')}; rm -rf ${dir}`;
  };
  const stages = join(dir, 'stages.yaml');
  await writeFile(stages, STAGES);
  const kubeconfig = `--kubeconfig=${cluster.kubeconfig}`;
  const common = [
    kubeconfig,
    `--authentication-kubeconfig=${cluster.kubeconfig}`,
    `--authorization-kubeconfig=${cluster.kubeconfig}`,
    '--leader-elect=false',
    '--secure-port=0',
  ];
  const serviceAccounts = [
    `--service-account-private-key-file=${join(cluster.dir, 'service-account.key')}`,
    `--root-ca-file=${join(cluster.dir, 'ca.crt')}`,
  ];
  const flags: Record<(typeof CONTROLLER_BINARIES)[number], string[]> = {
    'kube-controller-manager': [
      ...[...common, ...serviceAccounts],
      ...(schedulerOnly ? [`--controllers=${VOLUME_BINDER},serviceaccount-controller`] : []),
    ],
    // By default it writes 50 times a second.
    'kube-scheduler': [...common, ...(schedulerOnly ? ['--kube-api-qps=1000', '--kube-api-burst=1000'] : [])],
    // Without a port it serves nothing: a kubelet's logs and exec have no meaning here.
    kwok: [
      kubeconfig,
      `--manage-nodes-with-annotation-selector=${SIMULATED.join('=')}`,
      '--node-lease-duration-seconds=40',
      '--node-port=0',
      `--config=${stages}`,
    ],
  };
  try {
    for (const name of names) {
      daemons.push(startDaemon(programs[name], flags[name], join(dir, `${name}.log`), watcher));
    }
    await working(cluster, daemons);
    return { stop, keep };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function working(cluster: ControlPlane, daemons: readonly Daemon[]): Promise<void> {
  const deadline = Date.now() + READY_MS;
  for (;;) {
    const { status } = await raw(cluster).request('GET', SIGN_OF_LIFE);
    const dead = daemons.find(daemon => daemon.exited());
    if (dead !== undefined) throw new Error(`a controller did not start:\n${dead.logTail()}`);
    if (status === 200) return;
    if (Date.now() > deadline) throw new Error(`no controller worked after ${READY_MS} ms:\n${daemons[0]?.logTail()}`);
    await sleep(POLL_MS);
  }
}
