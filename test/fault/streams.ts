/** What a proxy may do with watches that are open: each is one fault. */
import type { ServerResponse } from 'node:http';
import type { Asked } from './asked.ts';
import { type FaultProxy, reset } from './proxy.ts';

type Which = (asked: Asked) => boolean;

/** Keeps back what matching watches are sent, ends included; release() sends it, in order, and holds no more. */
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

/** The next line of a matching watch is sent without its end, then the connection ends. Resolves when that happened. */
export function cutNextLine(proxy: FaultProxy, how: 'RST' | 'FIN', which: Which = () => true): Promise<Asked> {
  return next(proxy, which, (piece, client) => {
    const { socket } = client;
    // A reset throws away what was not sent yet: only after the half line is out.
    client.write(piece.subarray(0, piece.length - 10), () => (how === 'RST' ? reset(socket) : socket?.end()));
  });
}

/** Sends the text before the next line of a matching watch. Resolves when that happened. */
export function forgeNextLine(proxy: FaultProxy, text: string, which: Which = () => true): Promise<Asked> {
  return next(proxy, which, (piece, client) => {
    client.write(text);
    client.write(piece);
  });
}

/** Sends the text in place of the next line of a matching watch and ends it. Resolves when that happened. */
export function endWith(proxy: FaultProxy, text: string, which: Which = () => true): Promise<Asked> {
  return next(proxy, which, (_piece, client) => client.end(text));
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
