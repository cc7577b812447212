/** Turns the refusal of a read or write into a value, so that the caller can continue without it. */
import { ForbiddenError, NodepoolError } from '../../nodepool/errors.ts';

export type ValueOrRefusal<T> = { value: T } | { refusal: NodepoolError };

/** Throws bugs and command line errors. */
export async function valueOrRefusal<T>(work: () => Promise<T>): Promise<ValueOrRefusal<T>> {
  try {
    return { value: await work() };
  } catch (refusal) {
    if (!(refusal instanceof NodepoolError) || refusal.kind === 'usage') throw refusal;
    return { refusal };
  }
}

// Reads that the user may not be permitted to do.

export type Permitted<T> = { value: T } | { forbidden: NodepoolError };

/** The result, or that the request is forbidden; other errors are thrown. */
export async function permitted<T>(read: Promise<T>): Promise<Permitted<T>> {
  try {
    return { value: await read };
  } catch (error) {
    if (error instanceof ForbiddenError) return { forbidden: error };
    throw error;
  }
}

/** Like Promise.all. If permissions are missing, waits for the other reads and names all of them in order. */
export async function allPermitted<T extends readonly unknown[]>(
  reads: {
    [K in keyof T]: Promise<T[K]>;
  },
): Promise<T> {
  try {
    return (await Promise.all(reads)) as unknown as T;
  } catch (error) {
    if (!(error instanceof ForbiddenError)) throw error;
    const refusals = (await Promise.allSettled(reads)).flatMap(read =>
      read.status === 'rejected' && read.reason instanceof ForbiddenError ? [read.reason] : [],
    );
    throw inOne(refusals, error);
  }
}

function inOne(errors: readonly ForbiddenError[], first: ForbiddenError): ForbiddenError {
  if (errors.length < 2) return first;
  const missing = [...new Set(errors.flatMap(error => error.missing))];
  const items = errors.flatMap(({ lines }) => (lines.length > 1 ? lines.slice(1) : lines));
  const otherwise = errors.find(error => error.otherwise !== undefined)?.otherwise;
  return new ForbiddenError('the user lacks permissions:', missing, { items, otherwise, cause: first });
}
