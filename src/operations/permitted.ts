/** Reads for which the user may lack the permission. */
import { NodepoolError } from '../nodepool/errors.ts';

export type Permitted<T> = { value: T } | { forbidden: NodepoolError };

/** What was read, or that the user lacks the permission; any other error is thrown. */
export async function permitted<T>(read: Promise<T>): Promise<Permitted<T>> {
  try {
    return { value: await read };
  } catch (error) {
    if (isForbidden(error)) return { forbidden: error };
    throw error;
  }
}

/**
 * As Promise.all. Where the user lacks a permission, it waits for the other reads and names all that are missing, in their
 * order: a user who asks for one after the other asks often.
 */
export async function allPermitted<T extends readonly unknown[]>(
  reads: {
    [K in keyof T]: Promise<T[K]>;
  },
): Promise<T> {
  try {
    return (await Promise.all(reads)) as unknown as T;
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const refusals = (await Promise.allSettled(reads)).flatMap(read =>
      read.status === 'rejected' ? [read.reason] : [],
    );
    throw missing(refusals.filter(isForbidden), error);
  }
}

const ASK = 'ask for a role with ';

function missing(errors: readonly NodepoolError[], first: NodepoolError): NodepoolError {
  const roles = [...new Set(errors.flatMap(({ next }) => next?.replace(ASK, '') ?? []))];
  if (errors.length < 2) return first;
  const items = errors.flatMap(({ lines }) => (lines.length > 1 ? lines.slice(1) : lines));
  return new NodepoolError('cluster', 'the user lacks permissions:', `${ASK}${roles.join(', ')}`, {
    items,
    isForbidden: true,
    cause: first,
  });
}

function isForbidden(error: unknown): error is NodepoolError {
  return error instanceof NodepoolError && error.isForbidden;
}
