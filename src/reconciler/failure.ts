import { NodepoolError } from '../nodepool/errors.ts';

/** A write that failed. */
export interface WriteFailure {
  /** One line. */
  message: string;
  /** What can be done about it, as of a NodepoolError. */
  next?: string | undefined;
  /** The node that was to be written, which the message names. */
  node?: string | undefined;
}

/** Runs the work; a refusal of the cluster becomes a failure, a bug stays a throw. */
export async function attempt(failures: WriteFailure[], work: () => Promise<void>, node?: string): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    failures.push({ message: error.oneLine, next: error.next, node });
  }
}

export function messagesOf(failures: readonly WriteFailure[]): string[] {
  return failures.map(({ message }) => message);
}
