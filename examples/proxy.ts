/**
 * The proxy of HTTPS_PROXY, HTTP_PROXY and NO_PROXY. Node's agents read these when asked to. As in Go, there is no proxy for
 * loopback addresses and for CIDR blocks of NO_PROXY, which Node does not know.
 */
import http from 'node:http';
import https from 'node:https';
import { BlockList, type IPVersion, isIP } from 'node:net';

/** Returns the agent for a URL; undefined: Node's own, without a proxy. */
export function proxyAgents(env: NodeJS.ProcessEnv): (url: string) => http.Agent | undefined {
  // But for the proxy, as Node's own agents.
  const options = { keepAlive: true, timeout: 5_000, proxyEnv: env };
  const agents = { http: new http.Agent(options), https: new https.Agent(options) };
  const direct = new BlockList();
  const noProxy = env.no_proxy || env.NO_PROXY || '';
  for (const [address = '', bits] of `127.0.0.0/8,::1/128,${noProxy}`
    .split(',')
    .map(block => block.trim().split('/'))) {
    if (isIP(address) !== 0 && bits !== undefined) direct.addSubnet(address, Number(bits), versionOf(address));
  }
  return url => {
    const { protocol, hostname } = new URL(url);
    const host = hostname.replace(/^\[|\]$/g, '');
    if (host === 'localhost' || (isIP(host) !== 0 && direct.check(host, versionOf(host)))) return undefined;
    return protocol === 'http:' ? agents.http : agents.https;
  };
}

function versionOf(address: string): IPVersion {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}
