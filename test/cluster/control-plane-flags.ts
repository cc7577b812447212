/** Command-line flags of etcd and kube-apiserver. */

export function etcdFlags(data: string, clientUrl: string, peerPort: number): string[] {
  return [
    `--data-dir=${data}`,
    `--listen-client-urls=${clientUrl}`,
    `--advertise-client-urls=${clientUrl}`,
    `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
  ];
}

/**
 * @param file path of a file in the folder of the control plane
 * @param controlled whether controllers and kubelets follow, which serve pods and remove the first taint of a node
 */
export function apiserverFlags(
  file: (name: string) => string,
  etcdUrl: string,
  port: number,
  controlled = false,
): string[] {
  return [
    `--etcd-servers=${etcdUrl}`,
    // A lent etcd is emptied between tests: without its key, the compactor panics after 5 minutes.
    '--etcd-compaction-interval=0',
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${file('certs')}`,
    `--tls-cert-file=${file('apiserver.crt')}`,
    `--tls-private-key-file=${file('apiserver.key')}`,
    `--client-ca-file=${file('ca.crt')}`,
    '--authorization-mode=Node,RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${file('service-account.key')}`,
    `--service-account-signing-key-file=${file('service-account.key')}`,
    '--service-cluster-ip-range=10.0.0.0/24',
    '--allow-privileged',
    // TaintNodesByCondition marks every new node as not ready, for a node controller to unmark: there is none.
    ...(controlled ? [] : ['--disable-admission-plugins=ServiceAccount,TaintNodesByCondition']),
    ...(controlled ? [] : ['--enable-admission-plugins=NodeRestriction']),
    // The endpoints of the service "kubernetes" may not be a loopback address.
    '--endpoint-reconciler-type=none',
    ...(process.env.NODEPOOL_TEST_FEATURE_GATES ? [`--feature-gates=${process.env.NODEPOOL_TEST_FEATURE_GATES}`] : []),
  ];
}
