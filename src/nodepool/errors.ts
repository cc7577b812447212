export interface NodepoolErrorOptions extends ErrorOptions {
  /** Problems that the message announces, a line each. */
  items?: readonly string[];
  /** See NodepoolError. */
  isGeneral?: boolean;
  isTransient?: boolean;
}

/**
 * The one error type that is somebody's to act on. Anything else that is thrown is a bug of ours.
 *
 * - `usage`: the command line is wrong (exit 2).
 * - `input`: a file or an object is wrong; nothing was written (exit 1).
 * - `cluster`: the cluster refused or could not be reached (exit 1).
 * - `interrupted`: the user stopped it half-way (exit 130).
 */
export class NodepoolError extends Error {
  readonly kind: 'usage' | 'input' | 'cluster' | 'interrupted';
  /** What the user can do next, as one imperative sentence without a trailing full stop. */
  readonly next: string | undefined;
  /**
   * The message line by line: itself, then the items. A newline within one is part of a value, and is to be shown as an
   * escape: what follows it would pass for a line of ours.
   */
  readonly lines: readonly string[];
  /** Not of the object that was asked for: no connection or no credentials, so that the next request is likely to fail alike. */
  readonly isGeneral: boolean;
  /** May pass without anybody's help: the server is away, restarts or has too much to do. */
  readonly isTransient: boolean;

  constructor(kind: NodepoolError['kind'], message: string, next?: string, options: NodepoolErrorOptions = {}) {
    const { items = [], isGeneral = false, isTransient = false, ...rest } = options;
    const lines = [message, ...items];
    super(lines.join('\n  '), rest);
    this.name = 'NodepoolError';
    this.kind = kind;
    this.next = next;
    this.lines = lines;
    this.isGeneral = isGeneral;
    this.isTransient = isTransient;
  }

  /** The message in one line, for what is put together of several. Not `line`: errors of JavaScriptCore have a number of that name. */
  get oneLine(): string {
    const [message = '', ...items] = this.lines;
    return items.length === 0 ? message : `${message} ${items.join('; ')}`;
  }
}

/** What the server finds wrong with a list can only be the selector, and that is of the command line. Others stay as they are. */
export function selectorError(
  error: unknown,
  flag: string,
  selector: string,
  next = 'write it like a=b,c!=d,e',
): unknown {
  if (!(error instanceof NodepoolError) || error.kind !== 'input') return error;
  return new NodepoolError('usage', `${flag} "${selector}": ${error.message}`, next, { cause: error });
}
