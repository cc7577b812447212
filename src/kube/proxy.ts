/** Which proxy leads to the server: the kubeconfig's `proxy-url`, else HTTPS_PROXY and NO_PROXY, as kubectl. */
import { NodepoolError } from '../nodepool/errors.ts';
import type { ClusterEntry } from './kubeconfig-file.ts';

interface ProxyOptions {
  proxyEnv?: Record<string, string>;
}

/** Options for a node:http Agent. Like Go's, the environment's proxy is never used for a server on this machine. */
export function proxyEnvironment(cluster: ClusterEntry, env: Record<string, string | undefined>): ProxyOptions {
  const { hostname } = new URL(cluster.server);
  if (cluster.proxyUrl !== undefined) {
    if (!/^https?:/.test(cluster.proxyUrl)) {
      throw new NodepoolError(
        'input',
        `cluster "${cluster.name}": proxy-url ${cluster.proxyUrl} is not an http or https proxy`,
        'name an HTTP proxy, other kinds are not supported',
      );
    }
    return { proxyEnv: { HTTP_PROXY: cluster.proxyUrl, HTTPS_PROXY: cluster.proxyUrl } };
  }
  if (hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')) return {};
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];
  const proxyEnv = Object.fromEntries(names.flatMap(name => (env[name] ? [[name, env[name]]] : [])));
  return Object.keys(proxyEnv).length > 0 ? { proxyEnv } : {};
}
