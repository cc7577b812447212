/** Outcomes are return values. The reflector has its own time limits: a source may never end. */
export interface Source {
  /** One page of the state at the time of the first page (resourceVersion unset: never from a stale cache). */
  list(options: ListOptions): Promise<Page | Failure>;
  /** One watch with allowWatchBookmarks. `onLine` receives parsed JSON. Ends soon after the signal, with any result. */
  watch(options: WatchRequestOptions, onLine: (line: unknown) => void): Promise<WatchEnd | Failure>;
}

/** A resource to cache, and the transform that keeps the used fields of each object. */
export interface WatchedResource<T> {
  source: Source;
  transform: (raw: object) => T;
}

export interface ListOptions {
  /** Maximum number of items. */
  limit: number;
  /** The token of the previous page. */
  continue: string | undefined;
  signal: AbortSignal;
}

export interface WatchRequestOptions {
  /** Undefined with `initialEvents`. */
  resourceVersion: string | undefined;
  /** sendInitialEvents=true&resourceVersionMatch=NotOlderThan. */
  initialEvents: boolean;
  /** The server ends the watch after this time. */
  timeoutSeconds: number;
  signal: AbortSignal;
  /** Called when the server has accepted the watch; the first line may come much later. */
  onOpen?: () => void;
}

export interface Page {
  kind: 'page';
  /** Objects as received. */
  items: readonly unknown[];
  /** The resourceVersion of the list, the same on every page. */
  resourceVersion: string;
  /** Undefined on the last page. */
  continue: string | undefined;
}

/** The server ended the watch regularly, between two lines. */
export interface WatchEnd {
  kind: 'ended';
}

export type Failure =
  /** The server sent an error response. */
  | { kind: 'refused'; status: number; message: string; retryAfterMs: number | undefined }
  /** No connection, or a broken one. */
  | { kind: 'broken'; message: string };

export function broken(message: string): Failure {
  return { kind: 'broken', message };
}
