/**
 * The one error type that is somebody's to act on. Anything else that is thrown is a bug of ours.
 *
 * - `usage`: the command line is wrong (exit 2).
 * - `input`: a file or an object is wrong; nothing was written (exit 1).
 * - `cluster`: the cluster refused or could not be reached (exit 1).
 */
export class NodepoolError extends Error {
  readonly kind: 'usage' | 'input' | 'cluster';
  /** What the user can do next, as one imperative sentence without a trailing full stop. */
  readonly next: string | undefined;

  constructor(kind: NodepoolError['kind'], message: string, next?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'NodepoolError';
    this.kind = kind;
    this.next = next;
  }
}
