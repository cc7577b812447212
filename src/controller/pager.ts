/**
 * Lists a whole resource, never from a state older than the request.
 *
 * It uses WatchList (KEP-3157) where the server supports it: the server streams the objects from its cache, and neither
 * side has the whole list. A server without WatchList answers 400 or 422; all later lists are then read in pages. A
 * server under load ends the streams of slow watchers early, and would do so again; only this list is then read in
 * pages.
 *
 * Every attempt ends: after 30 s without an object or page, and after 5 min in total. Memory: what the transform keeps
 * of each object, and one page.
 */

import type { Clock } from './clock.ts';
import { collectGarbage } from './collect.ts';
import { ContinueTokens } from './continue-tokens.ts';
import type { Log } from './log.ts';
import { broken, type Failure, type Source } from './source.ts';
import type { Item } from './store.ts';
import { type TimeLimitedCall, withTimeLimit } from './time-limit.ts';
import { readItem, readLine } from './wire.ts';

/** As client-go's pager: 500 objects of 11 kB are 5 MB. */
const PAGE_SIZE = 500;
const SILENCE_MS = 30_000;
const WHOLE_MS = 300_000;

export type ListResult<T> = { kind: 'listed'; items: Item<T>[]; resourceVersion: string } | Failure;

type StreamResult<T> = ListResult<T> | { kind: 'incomplete' };

interface PagerOptions<T> {
  source: Source;
  transform: (raw: object) => T;
  clock: Clock;
  log: Log;
}

export class Pager<T> {
  readonly #options: PagerOptions<T>;
  #hasWatchList = true;

  constructor(options: PagerOptions<T>) {
    this.#options = options;
  }

  async list(signal: AbortSignal): Promise<ListResult<T>> {
    if (this.#hasWatchList) {
      const streamed = await this.#withTimeLimit<StreamResult<T>>(signal, progress => this.#stream(progress));
      if (streamed.kind === 'incomplete') {
        this.#options.log('info', 'the server ended the streaming list early; reading pages instead');
      } else if (streamed.kind === 'refused' && (streamed.status === 400 || streamed.status === 422)) {
        this.#hasWatchList = false;
        this.#options.log('info', `the server has no WatchList; reading pages instead: ${streamed.message}`);
      } else return streamed;
    }
    return this.#withTimeLimit<ListResult<T>>(signal, progress => this.#readPages(progress));
  }

  #withTimeLimit<R>(
    signal: AbortSignal,
    work: (progress: ProgressAttempt<R>) => Promise<R | Failure>,
  ): Promise<R | Failure> {
    const { clock } = this.#options;
    const late = broken('the list stalled or took too long');
    const end = clock.now() + WHOLE_MS;
    return withTimeLimit<R | Failure>(clock, SILENCE_MS, signal, { late, stopped: broken('stopped') }, inner =>
      work({ ...inner, onProgress: () => inner.extend(Math.min(SILENCE_MS, Math.max(0, end - clock.now()))) }),
    );
  }

  async #stream({ signal, end, onProgress }: ProgressAttempt<StreamResult<T>>): Promise<StreamResult<T>> {
    const items = new Map<string, Item<T>>();
    const options = { resourceVersion: undefined, initialEvents: true, timeoutSeconds: WHOLE_MS / 1000, signal };
    const ended = await this.#options.source.watch(options, json => {
      if (signal.aborted) return;
      onProgress();
      const line = readLine(json);
      switch (line.type) {
        case 'changed':
        case 'deleted': {
          const item = this.#read(line.raw);
          if (item !== undefined && line.type === 'changed') items.set(item.key, item);
          else if (item !== undefined) items.delete(item.key);
          return;
        }
        case 'bookmark':
          if (!line.endsInitialEvents) return;
          return end({ kind: 'listed', items: [...items.values()], resourceVersion: line.resourceVersion });
        case 'expired':
          return end(broken('the list expired on the server (410)'));
        case 'error':
          return end(line.failure);
        case 'unknown':
          return this.#options.log('warning', 'skipped a line of the list that is not an event');
      }
    });
    return ended.kind === 'ended' ? { kind: 'incomplete' } : ended;
  }

  async #readPages({ signal, onProgress }: ProgressAttempt<ListResult<T>>): Promise<ListResult<T>> {
    let items: Item<T>[] = [];
    const tokens = new ContinueTokens();
    for (let token: string | undefined; ; ) {
      const page = await this.#options.source.list({ limit: PAGE_SIZE, continue: token, signal });
      if (page.kind === 'refused' && tokens.restart(page.status)) {
        [items, token] = [[], undefined];
        continue;
      }
      if (page.kind !== 'page') return page;
      if (signal.aborted) return broken('stopped');
      onProgress();
      for (const raw of page.items) {
        const item = this.#read(raw);
        if (item !== undefined) items.push(item);
      }
      token = page.continue;
      if (token === undefined) {
        if (tokens.areUsed) collectGarbage();
        return { kind: 'listed', items, resourceVersion: page.resourceVersion };
      }
      if (tokens.isRepeat(token)) return broken('the server sent the same continue token twice: the list does not end');
      tokens.use(token);
    }
  }

  #read(raw: unknown): Item<T> | undefined {
    const read = readItem(raw, this.#options.transform);
    if (read.kind === 'item') return read.item;
    this.#options.log('warning', `skipped an object of the list: ${read.why}`);
    return undefined;
  }
}

/** An attempt whose time limit is extended by each object or page, up to the limit of the whole list. */
interface ProgressAttempt<R> extends TimeLimitedCall<R | Failure> {
  onProgress(): void;
}
