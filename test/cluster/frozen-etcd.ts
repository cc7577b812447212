/** A link to etcd that can be frozen, so that an API server serves stale data from its caches. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface EtcdLink {
  /** http://127.0.0.1:PORT, for an API server. */
  url: string;
  /** Stops both directions and keeps the sockets. The API server gives up on them after about 40 s. */
  freeze(): void;
  /** Sends what was held. */
  thaw(): void;
  close(): void;
}

/** @param etcd http://HOST:PORT */
export async function linkToEtcd(etcd: string): Promise<EtcdLink> {
  const { hostname, port } = new URL(etcd);
  const sockets = new Set<Socket>();
  let frozen = false;
  const server = createServer(client => {
    const upstream = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      // Not pipe(), which would resume by itself on drain.
      from.on('data', piece => void to.write(piece));
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      if (frozen) from.pause();
    }
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    freeze() {
      frozen = true;
      for (const socket of sockets) socket.pause();
    },
    thaw() {
      frozen = false;
      for (const socket of sockets) socket.resume();
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
