/** The `proxy-url` of the kubeconfig; otherwise the proxy of the environment, by Go's rules. */
import { BlockList, isIP, isIPv4 } from 'node:net';
import { NodepoolError } from '../../nodepool/errors.ts';

type Env = Record<string, string | undefined>;

export interface ProxiedCluster {
  name: string;
  server: string;
  proxyUrl?: string;
}

export interface ProxyAddress {
  url: URL;
  /** Where it is configured, for errors. */
  source: string;
}

/** The server at the end of a tunnel. */
export interface TunnelTarget {
  host: string;
  port: number;
}

/** Both fields are empty if the proxy's URL has no login. */
export interface ProxyLogin {
  username: string;
  password: string;
}

/** Throws NodepoolError (input) for an invalid address or an unknown scheme. */
export function proxyOf({ name, server, proxyUrl }: ProxiedCluster, env: Env): ProxyAddress | undefined {
  if (proxyUrl === undefined) return proxyFromEnvironment(new URL(server), env);
  return { url: checked(proxyUrl, `proxy-url of cluster "${name}"`), source: `proxy-url of cluster "${name}"` };
}

/**
 * HTTPS_PROXY or HTTP_PROXY, by the target's scheme, unless NO_PROXY matches; each also in lower case. These are the
 * rules of golang.org/x/net/http/httpproxy. Connections to servers on this machine never use a proxy.
 */
export function proxyFromEnvironment(target: URL, env: Env): ProxyAddress | undefined {
  const names = target.protocol === 'https:' ? ['HTTPS_PROXY', 'https_proxy'] : ['HTTP_PROXY', 'http_proxy'];
  const name = names.find(one => env[one]);
  const value = name === undefined ? undefined : env[name];
  if (name === undefined || value === undefined || isExempt(target, env.NO_PROXY || env.no_proxy || ''))
    return undefined;
  return { url: checked(/^[^/]*:\/\/./.test(value) ? value : `http://${value}`, name), source: name };
}

function checked(value: string, source: string): URL {
  const url = URL.parse(value);
  if (url === null || !/^(https?|socks5h?):$/.test(url.protocol) || url.hostname === '') {
    throw new NodepoolError(
      'input',
      `${source}: ${withoutLogin(value)} is not a proxy address`,
      'use http://, https:// or socks5://',
    );
  }
  return url;
}

function isExempt(target: URL, noProxy: string): boolean {
  const host = target.hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  // Compared as an address: the name `127.0.0.1.example.com` may be any host.
  if (host === 'localhost' || isInRange('127.0.0.0', 8, host) || isInRange('::1', 128, host)) return true;
  const port = target.port || (target.protocol === 'https:' ? '443' : '80');
  return noProxy
    .split(',')
    .map(rule => rule.trim().toLowerCase())
    .some(rule => rule === '*' || (rule !== '' && matches(rule, host, port)));
}

/** A rule is a CIDR, or an address or a domain with an optional port. Any other rule matches nothing. */
function matches(rule: string, host: string, port: string): boolean {
  const range = /^([^/]+)\/(\d+)$/.exec(rule);
  if (range !== null) return isInRange(range[1] ?? '', Number(range[2]), host);
  const [name, rulePort] = splitPort(rule);
  if (name === '' || (rulePort !== '' && rulePort !== port)) return false;
  if (isIP(name) || isIP(host)) return isIP(name) !== 0 && isInRange(name, isIPv4(name) ? 32 : 128, host);
  const domain = name.replace(/^\*\./, '.');
  // `.example.com` matches only subdomains, `example.com` matches itself as well.
  return domain.startsWith('.') ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}

/** Splits `host:port` and `[ipv6]:port`; a bare IPv6 address has no port. */
function splitPort(rule: string): [name: string, port: string] {
  if (isIP(rule)) return [rule, ''];
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*)):(\d*)$/.exec(rule) ?? [];
  return port === undefined ? [rule, ''] : [bracketed ?? plain ?? '', port];
}

function isInRange(address: string, bits: number, host: string): boolean {
  const [family, hostFamily] = [isIP(address), isIP(host)];
  if (family === 0 || hostFamily === 0 || bits > (family === 4 ? 32 : 128)) return false;
  const list = new BlockList();
  list.addSubnet(address, bits, family === 4 ? 'ipv4' : 'ipv6');
  return list.check(host, hostFamily === 4 ? 'ipv4' : 'ipv6');
}

/** Removes everything before an @, which may be a password, even in a malformed address. */
export function withoutLogin(address: string): string {
  return address.replace(/^([a-z][a-z\d+.-]*:\/\/)?.*@/is, '$1');
}
