/** Reads the beginning of what comes over a socket; the rest is left to whoever takes the socket over. */
import type { Socket } from 'node:net';

/** Reads from a socket in the pieces that a protocol asks for. */
export interface Reader {
  /** So many bytes. */
  bytes(count: number): Promise<Buffer>;
  /** All up to this, which is not in it. */
  until(end: string, most: number): Promise<string>;
}

/** What comes after the last piece stays in the socket. */
export function readerOf(socket: Socket): Reader {
  async function take(lengthIn: (all: Buffer) => number | undefined): Promise<Buffer> {
    let all: Buffer = Buffer.alloc(0);
    for (;;) {
      const chunk: Buffer | null = socket.read();
      if (chunk !== null) {
        all = Buffer.concat([all, chunk]);
        const length = lengthIn(all);
        if (length === undefined) continue;
        if (length < all.length) socket.unshift(all.subarray(length));
        return all.subarray(0, length);
      }
      await readable(socket);
    }
  }
  return {
    bytes: count => take(all => (all.length < count ? undefined : count)),
    async until(end, most) {
      const head = await take(all => {
        const at = all.indexOf(end);
        if (at < 0 && all.length > most) throw new Error('it answered with something else than HTTP');
        return at < 0 ? undefined : at + end.length;
      });
      return head.subarray(0, -end.length).toString('latin1');
    },
  };
}

function readable(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error) => {
      socket.off('readable', settle).off('end', ended).off('error', settle).off('close', ended);
      if (error === undefined) resolve();
      else reject(error);
    };
    const ended = () => settle(new Error('it closed the connection'));
    socket.on('readable', settle).on('end', ended).on('error', settle).on('close', ended);
    if (socket.destroyed) ended();
  });
}
