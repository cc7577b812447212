/** A fake API server: answers each list and watch when and as the test says. */
import type {
  Failure,
  ListOptions,
  Page,
  Source,
  WatchEnd,
  WatchRequestOptions,
} from '../../../src/controller/source.ts';

export interface AskedWatch {
  options: WatchRequestOptions;
  /** Sends lines. */
  send(...lines: unknown[]): void;
  end(how: WatchEnd | Failure): void;
  fail(error: Error): void;
}

export interface AskedList {
  options: ListOptions;
  answer(page: Page | Failure): void;
}

export class FakeSource implements Source {
  readonly watches: AskedWatch[] = [];
  readonly lists: AskedList[] = [];
  /** The response to requests for the newest resourceVersion. Default: later than all objects. */
  newest: string | Failure = '999999';
  looks = 0;

  async list(options: ListOptions): Promise<Page | Failure> {
    if (options.limit === 1) {
      this.looks += 1;
      const { newest } = this;
      return typeof newest === 'string'
        ? { kind: 'page', items: [], resourceVersion: newest, continue: undefined }
        : newest;
    }
    return new Promise(resolve => {
      this.lists.push({ options, answer: resolve });
    });
  }

  watch(options: WatchRequestOptions, onLine: (line: unknown) => void): Promise<WatchEnd | Failure> {
    return new Promise((resolve, reject) => {
      const send = (...lines: unknown[]) => {
        for (const line of lines) onLine(line);
      };
      this.watches.push({ options, send, end: resolve, fail: reject });
    });
  }
}

export const ENDED: WatchEnd = { kind: 'ended' };

export const BROKEN: Failure = { kind: 'broken', message: 'the line is cut' };

export function refused(status: number, retryAfterMs?: number): Failure {
  return { kind: 'refused', status, message: 'no', retryAfterMs };
}

/** An object as in a response. */
export function thing(name: string, version: number, uid = name) {
  return { metadata: { name, uid, resourceVersion: String(version) }, large: 'x'.repeat(100) };
}

export const added = (name: string, version: number, uid?: string) => ({
  type: 'ADDED',
  object: thing(name, version, uid),
});

export const modified = (name: string, version: number, uid?: string) => ({
  type: 'MODIFIED',
  object: thing(name, version, uid),
});

export const deleted = (name: string, version: number, uid?: string) => ({
  type: 'DELETED',
  object: thing(name, version, uid),
});

export const bookmark = (version: number) => ({
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion: String(version) } },
});

/** The bookmark after the initial events. */
export const initialEnd = (version: number) => ({
  type: 'BOOKMARK',
  object: {
    metadata: { resourceVersion: String(version), annotations: { 'k8s.io/initial-events-end': 'true' } },
  },
});

export const errorLine = (code: number, reason: string, retryAfterSeconds?: number) => ({
  type: 'ERROR',
  object: {
    kind: 'Status',
    code,
    reason,
    message: 'no',
    ...(retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } }),
  },
});
