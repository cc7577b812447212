/** Cuts watches inside a line, and knows where a process may resume. */
import type { ServerResponse } from 'node:http';
import { type Asked, isList } from './asked.ts';
import type { FaultProxy } from './proxy.ts';

/** How many bytes of a chunk are sent before the cut. */
export const PLACES: ((length: number) => number)[] = [length => length >> 1, () => 1, length => length - 1];

export interface Cut {
  asked: Asked;
  /** Where a process may resume: after the last whole line before the cut chunk, or after one of those in it. */
  versions: string[];
}

/** Reads the watch streams, and cuts them. */
export class Cutter {
  readonly #versions = new Map<number, string>();
  readonly #rest = new Map<number, string>();
  readonly #plans = new Map<string, (asked: Asked, piece: Buffer, client: ServerResponse) => void>();
  readonly #cut = new Set<number>();

  constructor(proxy: FaultProxy) {
    proxy.onPiece((asked, piece, client) => {
      if (this.#cut.has(asked.id)) return 'eaten';
      const plan = isList(asked) || piece.length === 0 ? undefined : this.#plans.get(asked.path);
      plan?.(asked, piece, client);
      if (plan !== undefined) return 'eaten';
      this.#read(asked, piece);
      return undefined;
    });
  }

  /** Resolves when the next chunk of a watch of that path is cut. */
  next(path: string, place: (length: number) => number): Promise<Cut> {
    return new Promise(resolve => {
      this.#plans.set(path, (asked, piece, client) => {
        this.#plans.delete(path);
        this.#cut.add(asked.id);
        const before = this.#versions.get(asked.id) ?? asked.query.get('resourceVersion') ?? '';
        let bytes = place(piece.length);
        if (piece[bytes - 1] === 10) bytes += 1;
        const part = piece.subarray(0, bytes);
        client.end(part);
        resolve({ asked, versions: [before, ...this.#read(asked, part)] });
      });
    });
  }

  /** The resourceVersions of the lines that are complete now. */
  #read(asked: Asked, piece: Buffer): string[] {
    const lines = ((this.#rest.get(asked.id) ?? '') + piece.toString('latin1')).split('\n');
    this.#rest.set(asked.id, lines.pop() ?? '');
    const versions = lines.map(line => String(JSON.parse(line).object.metadata.resourceVersion));
    const last = versions.at(-1);
    if (last !== undefined) this.#versions.set(asked.id, last);
    return versions;
  }
}
