/** An HTTP proxy into the network of the test node, whose pods no other network reaches. Tests read metrics through the proxy. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { joinSockets } from './sockets.ts';

/** In the node's folder, which both networks see. */
export const POD_PROXY_SOCKET = 'pods.sock';

/** Inside: answers requests for http://POD:PORT/PATH. */
export async function servePodProxy(socket: string): Promise<void> {
  const server = createServer(({ method, url = '', headers }, response) => {
    const onward = request(url, { method, headers }, answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', error => response.writeHead(502).end(`${error.message}\n`));
    response.on('close', () => onward.destroy());
    onward.end();
  });
  await once(server.listen(socket), 'listening');
}

export interface PodProxy {
  /** http://127.0.0.1:PORT, for `curl --proxy` and Prometheus' `proxy_url`. */
  url: string;
  close(): void;
}

/** Outside. */
export async function openPodProxy(socket: string): Promise<PodProxy> {
  const server = createTcpServer(near => joinSockets(near, connect(socket)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => void server.close() };
}
