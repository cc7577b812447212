/**
 * What the reflector asks of an API server. Whoever implements it says what happened as values; it is not trusted to
 * end in time, or at all: the reflector's own limits hold without it.
 */
export interface Source {
  /** One page, at the state the server has when the first page is asked for (resourceVersion unset: never a cache's past). */
  list(options: ListOptions): Promise<Page | Failure>;
  /**
   * One watch with allowWatchBookmarks, to its end. `onLine` gets every line's JSON as it comes.
   * It ends soon after the signal is aborted, with whatever value.
   */
  watch(options: WatchOptions, onLine: (line: unknown) => void): Promise<WatchEnd | Failure>;
}

export interface ListOptions {
  /** Most items of a page. */
  limit: number;
  /** The token of the page before. */
  continue: string | undefined;
  signal: AbortSignal;
}

export interface WatchOptions {
  /** Undefined with `initialEvents`. */
  resourceVersion: string | undefined;
  /** sendInitialEvents=true&resourceVersionMatch=NotOlderThan. */
  initialEvents: boolean;
  /** After which the server ends it. */
  timeoutSeconds: number;
  signal: AbortSignal;
  /** Called when the server has agreed to it: the first line may be long in coming. */
  onOpen?: () => void;
}

export interface Page {
  kind: 'page';
  /** Objects as they travel. */
  items: readonly unknown[];
  /** Of the list, the same on every page. */
  resourceVersion: string;
  /** Undefined on the last page. */
  continue: string | undefined;
}

/** The server ended the watch as it should: between two lines. */
export interface WatchEnd {
  kind: 'ended';
}

export type Failure =
  /** The server answered, and not with what was asked for. */
  | { kind: 'refused'; status: number; message: string; retryAfterMs: number | undefined }
  /** No connection, or one that broke off. */
  | { kind: 'broken'; message: string };

export function broken(message: string): Failure {
  return { kind: 'broken', message };
}
