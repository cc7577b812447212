/** Real proxies on 127.0.0.1 that connect any name to one local port and record the requests. */
import { createServer as createHttpServer, type IncomingMessage, request } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TestContext } from 'node:test';
import type { KeyPair } from './certificates.ts';

export interface TestProxy {
  /** `host:port` to put behind a scheme and a login. */
  address: string;
  /** What was asked for, with the login where there was one: `CONNECT name:6443 as user:password`. */
  asked: string[];
  /** Connections that are open. */
  open(): number;
}

export interface ProxyBehaviour {
  /** The port that all names lead to. */
  port: number;
  /** The only login that is let through, `user:password`. */
  login?: string;
  /** Accepts connections and never answers. */
  silent?: boolean;
}

/** @param certificate makes it an https:// proxy */
export async function httpProxy(t: TestContext, behaviour: ProxyBehaviour, certificate?: KeyPair): Promise<TestProxy> {
  const { port, login, silent = false } = behaviour;
  const asked: string[] = [];
  const server = certificate === undefined ? createHttpServer() : createHttpsServer(certificate);
  const isWelcome = ({ method, url, headers }: IncomingMessage) => {
    const given = Buffer.from(headers['proxy-authorization']?.replace('Basic ', '') ?? '', 'base64').toString();
    asked.push(`${method} ${url}${given === '' ? '' : ` as ${given}`}`);
    return login === undefined || login === given;
  };
  server.on('connect', (incoming: IncomingMessage, socket: Duplex) => {
    const welcome = isWelcome(incoming);
    // A client that is refused closes its other connections.
    socket.on('error', () => {});
    // A server's sockets are half open: they are closed by hand.
    if (silent) return void socket.on('end', () => socket.destroy()).resume();
    if (welcome) pass(socket, port, () => socket.write('HTTP/1.1 200 Connection established\r\n\r\n'));
    else socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n');
  });
  server.on('request', (incoming, response) => {
    if (!isWelcome(incoming)) return void response.writeHead(407).end();
    const { pathname, search } = new URL(incoming.url ?? '');
    const onward = request({ host: '127.0.0.1', port, method: incoming.method, path: pathname + search }, answer => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.writeHead(502).end());
    incoming.pipe(onward);
  });
  return { asked, ...(await listening(t, server)) };
}

/** SOCKS5 (RFC 1928), with a password (RFC 1929) when there is a login. */
export async function socksProxy(t: TestContext, { port, login }: ProxyBehaviour): Promise<TestProxy> {
  const asked: string[] = [];
  const server = createServer(async socket => {
    socket.on('error', () => {});
    // A client waits for each response before it continues.
    const next = () => new Promise<Buffer>(resolve => socket.once('data', resolve));
    const methods = (await next()).subarray(2);
    const method = login === undefined ? 0 : 2;
    if (!methods.includes(method)) return void socket.end(Buffer.from([5, 255]));
    socket.write(Buffer.from([5, method]));
    let who = '';
    if (login !== undefined) {
      const text = await next();
      const name = text.subarray(2, 2 + (text[1] ?? 0)).toString();
      who = `${name}:${text.subarray(3 + name.length)}`;
      socket.write(Buffer.from([1, who === login ? 0 : 1]));
      if (who !== login) return void socket.end();
    }
    const request = await next();
    const target = request[3] === 3 ? request.subarray(5, -2).toString() : `${[...request.subarray(4, -2)]}`;
    asked.push(`${target}:${request.readUInt16BE(request.length - 2)}${who === '' ? '' : ` as ${who}`}`);
    if (target === 'forbidden') return void socket.end(Buffer.from([5, 2, 0, 1, 0, 0, 0, 0, 0, 0]));
    // In two pieces, as a network may deliver it.
    pass(socket, port, () => {
      socket.write(Buffer.from([5, 0, 0]));
      setTimeout(() => socket.write(Buffer.from([1, 127, 0, 0, 1, 0, 80])), 5);
    });
  });
  return { asked, ...(await listening(t, server)) };
}

function pass(client: Duplex, port: number, ready: () => void): void {
  const server = connect(port, '127.0.0.1', () => {
    ready();
    client.pipe(server).pipe(client);
  });
  for (const socket of [client, server]) socket.on('error', () => {});
  client.on('close', () => server.destroy());
  server.on('close', () => client.destroy());
}

async function listening(t: TestContext, server: Server): Promise<Pick<TestProxy, 'address' | 'open'>> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, open: () => sockets.size };
}
