/**
 * The door of this folder: which proxy leads to a server, by the kubeconfig's `proxy-url`, else the environment's, read as
 * Go reads it. proxy-agent.ts makes the agent that leads through it. Neither connects before the first request.
 */
import { BlockList, isIP, isIPv4 } from 'node:net';
import { NodepoolError } from '../../nodepool/errors.ts';

type Env = Record<string, string | undefined>;

/** A cluster of the kubeconfig. */
export interface ProxiedCluster {
  name: string;
  server: string;
  proxyUrl?: string;
}

export interface ProxyAddress {
  url: URL;
  /** What to correct when it does not work. */
  source: string;
}

/** What a tunnel leads to. */
export interface Target {
  host: string;
  port: number;
}

/** Both empty without one. */
export interface Login {
  username: string;
  password: string;
}

/** Throws NodepoolError (input) of an address that is none, or a proxy of an unknown kind. */
export function proxyOf({ name, server, proxyUrl }: ProxiedCluster, env: Env): ProxyAddress | undefined {
  if (proxyUrl === undefined) return proxyFromEnvironment(new URL(server), env);
  return { url: checked(proxyUrl, `proxy-url of cluster "${name}"`), source: `proxy-url of cluster "${name}"` };
}

/**
 * By HTTPS_PROXY or HTTP_PROXY, by the scheme of what is asked for, and NO_PROXY, each also in lower case: the rules of
 * golang.org/x/net/http/httpproxy. A server on this machine is never asked through a proxy.
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
      `${source}: ${withoutLogin(value)} is not an address of a proxy`,
      'write http://, https:// or socks5://',
    );
  }
  return url;
}

function isExempt(target: URL, noProxy: string): boolean {
  const host = target.hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  // By address alone: `127.0.0.1.example.com` may be anywhere.
  if (host === 'localhost' || isInRange('127.0.0.0', 8, host) || isInRange('::1', 128, host)) return true;
  const port = target.port || (target.protocol === 'https:' ? '443' : '80');
  return noProxy
    .split(',')
    .map(rule => rule.trim().toLowerCase())
    .some(rule => rule === '*' || (rule !== '' && matches(rule, host, port)));
}

/** A range of addresses, or an address or a domain, with or without a port. What is none of them matches nothing. */
function matches(rule: string, host: string, port: string): boolean {
  const range = /^([^/]+)\/(\d+)$/.exec(rule);
  if (range !== null) return isInRange(range[1] ?? '', Number(range[2]), host);
  const [name, rulePort] = splitPort(rule);
  if (name === '' || (rulePort !== '' && rulePort !== port)) return false;
  if (isIP(name) || isIP(host)) return isIP(name) !== 0 && isInRange(name, isIPv4(name) ? 32 : 128, host);
  const domain = name.replace(/^\*\./, '.');
  // `.example.com` means subdomains alone, `example.com` itself as well.
  return domain.startsWith('.') ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}

/** `host:port` and `[ipv6]:port`; an IPv6 address alone has colons and no port. */
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

/** An address for a message: without what stands before an @, which may be a password, however odd it is written. */
export function withoutLogin(address: string): string {
  return address.replace(/^([a-z][a-z\d+.-]*:\/\/)?.*@/is, '$1');
}
