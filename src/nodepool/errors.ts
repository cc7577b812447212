interface NodepoolErrorOptions extends ErrorOptions {
  /** The problems, one per line, that follow the message. */
  items?: readonly string[];
  /** These three: see the fields of NodepoolError. */
  isGeneral?: boolean;
  isTransient?: boolean;
  isPermanent?: boolean;
}

/**
 * The only error type that a user can act on. Anything else that is thrown is a bug.
 *
 * - `usage`: the command line is wrong (exit 2).
 * - `input`: a file or an object is wrong; nothing was written (exit 1).
 * - `cluster`: the cluster refused or could not be reached (exit 1).
 * - `interrupted`: the user interrupted it (exit 130).
 */
export class NodepoolError extends Error {
  readonly kind: 'usage' | 'input' | 'cluster' | 'interrupted';
  /** What the user can do next, as one imperative sentence without a trailing full stop. */
  readonly next: string | undefined;
  /** One entry per line. A newline within an entry is escaped when printed, or a value could forge a line of output. */
  readonly lines: readonly string[];
  /** Not specific to the object, such as no connection or no credentials: the next request will likely fail as well. */
  readonly isGeneral: boolean;
  /** Can pass without intervention: the server is unavailable, restarting or overloaded. */
  readonly isTransient: boolean;
  /** A retry alone does not help: an invalid object, no permission, a denial by an admission policy or webhook. */
  readonly isPermanent: boolean;

  constructor(kind: NodepoolError['kind'], message: string, next?: string, options: NodepoolErrorOptions = {}) {
    const { items = [], isGeneral = false, isTransient = false, isPermanent = kind === 'input', ...rest } = options;
    const lines = [message, ...items];
    super(lines.join('\n  '), rest);
    this.name = 'NodepoolError';
    this.kind = kind;
    this.next = next;
    this.lines = lines;
    this.isGeneral = isGeneral;
    this.isTransient = isTransient;
    this.isPermanent = isPermanent;
  }

  /** The message and its items. Not named `line`: errors of JavaScriptCore have a numeric property of that name. */
  get oneLine(): string {
    const [message = '', ...items] = this.lines;
    return items.length === 0 ? message : `${message} ${items.join('; ')}`;
  }
}

/** A name that no object can have. The command line may have a type before it, such as `node/web-1`. */
export class InvalidNameError extends NodepoolError {}

/** A person answered a question with no. That is not an error: the command ends without `error:`. */
export class DeclinedError extends NodepoolError {
  constructor(message = 'nothing was changed', next?: string) {
    super('input', message, next);
  }
}

/** The user may not send this request; other requests may succeed. */
export class ForbiddenError extends NodepoolError {
  /** The missing permissions, such as `verb list on nodes`. */
  readonly missing: readonly string[];
  /** An alternative without the permission, as the end of the next step. */
  readonly otherwise: string | undefined;

  constructor(
    message: string,
    missing: readonly string[],
    options: Pick<NodepoolErrorOptions, 'items' | 'cause'> & { otherwise?: string | undefined } = {},
  ) {
    const { otherwise, ...rest } = options;
    const role = `ask for a role with ${missing.join(', ')}`;
    super('cluster', message, otherwise === undefined ? role : `${role}, or ${otherwise}`, {
      ...rest,
      isPermanent: true,
    });
    this.missing = missing;
    this.otherwise = otherwise;
  }
}

/** For catch() of a read that may fail: returns `value`, which means unknown. Rethrows bugs. */
export function ifRefused<T>(value: T): (error: unknown) => T {
  return error => {
    if (!(error instanceof NodepoolError)) throw error;
    return value;
  };
}

/** A warning to the user. A plain string has no next step. */
export type Warning = string | { message: string; next: string | undefined };

/** As one text, for a log, JSON and as a key. It cannot be split again: the message may contain "; next: ". */
export function warningText(warning: Warning): string {
  if (typeof warning === 'string') return warning;
  return warning.next === undefined ? warning.message : `${warning.message}; next: ${warning.next}`;
}

/** @param about precedes the message, such as the name of the pool */
export function warningAbout(about: string, warning: Warning): Warning {
  if (typeof warning === 'string') return `${about}: ${warning}`;
  return { ...warning, message: `${about}: ${warning.message}` };
}
