/** Requests to a proxy, and predicates on them. */

export interface Asked {
  /** Numbered from 1 in the order of arrival. */
  id: number;
  /** Milliseconds on performance.now()'s clock. */
  at: number;
  method: string;
  path: string;
  query: URLSearchParams;
  userAgent: string;
  /** Which process sent it, for processes with their own path prefix in the server URL (`/life-1`). */
  process: string | undefined;
  /** The status that the client got; undefined without a response. */
  status?: number;
  /** When the whole response had been sent. */
  answeredAt?: number;
}

export const isWatch = ({ query }: Asked) => query.has('watch');
/** Of a whole collection, as caches list. The members of one pool, of which annotations are to be read, have a selector. */
export const isList = ({ query }: Asked) =>
  !query.has('labelSelector') && (query.has('sendInitialEvents') || (query.has('limit') && query.get('limit') !== '1'));
/** Asks for the server's newest resourceVersion. */
export const isLook = ({ query }: Asked) => query.get('limit') === '1';
export const isWrite = ({ method }: Asked) => method !== 'GET';
/** Writes of reconciled objects: neither events nor leases. */
export const isReconcileWrite = (asked: Asked) => isWrite(asked) && !/\/(events|leases)(\/|$)/.test(asked.path);
