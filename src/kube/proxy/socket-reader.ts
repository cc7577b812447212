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
  /** @param lengthIn is told how much was there the last time: that need not be looked at again */
  async function take(lengthIn: (all: Buffer, before: number) => number | undefined): Promise<Buffer> {
    // Twice as large each time: joined at every piece, a head that comes byte by byte would be copied 64,000 times.
    let room: Buffer = Buffer.alloc(0);
    let used = 0;
    for (;;) {
      const chunk: Buffer | null = socket.read();
      if (chunk !== null) {
        const before = used;
        used += chunk.length;
        if (used > room.length) room = Buffer.concat([room.subarray(0, before)], used * 2);
        chunk.copy(room, before);
        const length = lengthIn(room.subarray(0, used), before);
        if (length === undefined) continue;
        if (length < used) socket.unshift(room.subarray(length, used));
        return room.subarray(0, length);
      }
      await readable(socket);
    }
  }
  return {
    bytes: count => take(all => (all.length < count ? undefined : count)),
    async until(end, most) {
      const head = await take((all, before) => {
        const at = all.indexOf(end, Math.max(before - end.length, 0));
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
