/** What an exec plugin is told, in KUBERNETES_EXEC_INFO: an ExecCredential without a status. */
import type { ExecConfig } from './exec-config.ts';
import type { ClusterEntry } from './kubeconfig-file.ts';

/** @param ca the content of the cluster's certificate-authority, if it has one */
export function execInfo(
  { apiVersion, provideClusterInfo }: ExecConfig,
  cluster: ClusterEntry,
  ca: Buffer | undefined,
  interactive: boolean,
): string {
  const spec = { ...(provideClusterInfo ? { cluster: clusterInfo(cluster, ca) } : {}), interactive };
  return JSON.stringify({ kind: 'ExecCredential', apiVersion, spec });
}

/** `client.authentication.k8s.io/v1` Cluster. proxy-url is the kubeconfig's alone, as for client-go. */
function clusterInfo(cluster: ClusterEntry, ca: Buffer | undefined) {
  const { server, tlsServerName, skipTlsVerify, proxyUrl, disableCompression, execExtension } = cluster;
  return {
    server,
    ...(tlsServerName === undefined ? {} : { 'tls-server-name': tlsServerName }),
    ...(skipTlsVerify ? { 'insecure-skip-tls-verify': true } : {}),
    ...(ca === undefined ? {} : { 'certificate-authority-data': ca.toString('base64') }),
    ...(proxyUrl === undefined ? {} : { 'proxy-url': proxyUrl }),
    ...(disableCompression === undefined ? {} : { 'disable-compression': true }),
    config: execExtension ?? null,
  };
}
