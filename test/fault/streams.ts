/** Faults of open watches. */
import type { ServerResponse } from 'node:http';
import type { Asked } from './asked.ts';
import type { FaultProxy } from './proxy.ts';
import { reset } from './reset.ts';

type Which = (asked: Asked) => boolean;

/** Holds the chunks and ends of matching watches; release() sends them in order and stops holding. */
export function holdWatches(proxy: FaultProxy, which: Which = () => true): { held(): number; release(): void } {
  const kept: { client: ServerResponse; piece: Buffer }[] = [];
  const end = proxy.onPiece((asked, piece, client) => {
    if (!which(asked)) return undefined;
    kept.push({ client, piece });
    return 'eaten';
  });
  return {
    held: () => kept.length,
    release() {
      end();
      for (const { client, piece } of kept) {
        if (client.destroyed) continue;
        if (piece.length === 0) client.end();
        else client.write(piece);
      }
    },
  };
}

/** Sends the next line of a matching watch in part, then closes the connection. Resolves when done. */
export function cutNextLine(proxy: FaultProxy, how: 'RST' | 'FIN', which: Which = () => true): Promise<Asked> {
  return next(proxy, which, (piece, client) => {
    const { socket } = client;
    // A reset drops unsent data, so wait until the half line is sent.
    client.write(piece.subarray(0, piece.length - 10), () => (how === 'RST' ? reset(socket) : socket?.end()));
  });
}

/** Sends the text before the next line of a matching watch. Resolves when done. */
export function forgeNextLine(proxy: FaultProxy, text: string, which: Which = () => true): Promise<Asked> {
  return next(proxy, which, (piece, client) => {
    client.write(text);
    client.write(piece);
  });
}

function next(proxy: FaultProxy, which: Which, act: (piece: Buffer, client: ServerResponse) => void): Promise<Asked> {
  return new Promise(resolve => {
    const end = proxy.onPiece((asked, piece, client) => {
      if (piece.length === 0 || !which(asked)) return undefined;
      end();
      act(piece, client);
      resolve(asked);
      return 'eaten';
    });
  });
}
