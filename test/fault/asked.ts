/** What a proxy was asked, and what kind of request that is. */

export interface Asked {
  /** Counts from 1 in the order of arrival. */
  id: number;
  /** Milliseconds on performance.now()'s clock. */
  at: number;
  method: string;
  path: string;
  query: URLSearchParams;
  userAgent: string;
  /** Of processes with a server address of their own (`/life-1` behind the proxy's): which one. */
  process: string | undefined;
  /** What the client was sent; undefined while, or when, there was nothing. */
  status?: number;
  /** When the whole answer had been sent. */
  answeredAt?: number;
}

export const isWatch = ({ query }: Asked) => query.has('watch');
export const isList = ({ query }: Asked) =>
  query.has('sendInitialEvents') || (query.has('limit') && query.get('limit') !== '1');
/** Asks for the server's newest resourceVersion. */
export const isLook = ({ query }: Asked) => query.get('limit') === '1';
export const isWrite = ({ method }: Asked) => method !== 'GET';
/** Writes of what is reconciled: neither events nor leases. */
export const isReconcileWrite = (asked: Asked) => isWrite(asked) && !/\/(events|leases)(\/|$)/.test(asked.path);
