/** Reads that a command can do without. */
import { NodepoolError } from '../nodepool/errors.ts';

export type Permitted<T> = { value: T } | { forbidden: NodepoolError };

/** What was read, or that the user lacks the permission; any other error is thrown. */
export async function permitted<T>(read: Promise<T>): Promise<Permitted<T>> {
  try {
    return { value: await read };
  } catch (error) {
    if (error instanceof NodepoolError && error.isForbidden) return { forbidden: error };
    throw error;
  }
}
