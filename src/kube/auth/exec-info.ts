/** KUBERNETES_EXEC_INFO, the input of an exec plugin: an ExecCredential without a status. */
import type { ExecConfig } from './exec-config.ts';
import type { ClusterEntry } from './kubeconfig-file.ts';

/** @param ca content of the cluster's certificate-authority */
export function execInfo(
  { apiVersion, provideClusterInfo }: ExecConfig,
  cluster: ClusterEntry,
  ca: Buffer | undefined,
  interactive: boolean,
): string {
  const spec = { cluster: provideClusterInfo ? clusterInfo(cluster, ca) : undefined, interactive };
  return JSON.stringify({ kind: 'ExecCredential', apiVersion, spec });
}

/**
 * `client.authentication.k8s.io/v1` Cluster. As client-go, only the proxy-url of the kubeconfig, not the environment's
 * proxy.
 */
function clusterInfo(cluster: ClusterEntry, ca: Buffer | undefined) {
  const { server, tlsServerName, skipTlsVerify, proxyUrl, disableCompression, execExtension } = cluster;
  return {
    server,
    'tls-server-name': tlsServerName,
    'insecure-skip-tls-verify': skipTlsVerify || undefined,
    'certificate-authority-data': ca?.toString('base64'),
    'proxy-url': proxyUrl,
    'disable-compression': disableCompression,
    config: execExtension ?? null,
  };
}
