/** Agents of node:http(s) that connect through a proxy: by a tunnel, except for plain HTTP through an HTTP proxy. */
import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { ProxyAddress } from './proxy.ts';

/**
 * @param target its scheme selects the kind of agent
 * @param options TLS options for the server and, as in client-go, for an https:// proxy
 */
export function newAgent(target: URL, proxy: ProxyAddress | undefined, options: https.AgentOptions): http.Agent {
  const isPlain = target.protocol === 'http:';
  if (isPlain && proxy?.url.protocol.startsWith('http')) {
    return new http.Agent({ ...options, proxyEnv: { HTTP_PROXY: proxy.url.href } });
  }
  const agent = isPlain ? new http.Agent(options) : new https.Agent(options);
  return proxy === undefined ? agent : throughTunnel(agent, proxy, options, isPlain);
}

function throughTunnel(
  agent: http.Agent,
  proxy: ProxyAddress,
  options: https.AgentOptions,
  isPlain: boolean,
): http.Agent {
  const overTunnel = agent.createConnection.bind(agent);
  const destroy = agent.destroy.bind(agent);
  const ended = new AbortController();
  type Connect = typeof agent.createConnection;
  agent.createConnection = ((
    to: { host: string; port: number },
    done: (error: Error | null, socket?: Socket) => void,
  ) => {
    const opening = import('./tunnel.ts').then(({ openTunnel }) => openTunnel(proxy, to, options, ended.signal));
    opening.then(
      socket => done(null, isPlain ? socket : (overTunnel({ ...to, socket } as Parameters<Connect>[0]) as Socket)),
      error => done(error),
    );
  }) as Connect;
  agent.destroy = () => {
    ended.abort();
    destroy();
  };
  return agent;
}
