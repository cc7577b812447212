/** A read or write whose refusal is a value: the caller goes on without it. */
import { NodepoolError } from '../../nodepool/errors.ts';

export type Attempt<T> = { value: T } | { refusal: NodepoolError };

/** Throws what is a bug, and what is wrong with the command line. */
export async function attempt<T>(work: () => Promise<T>): Promise<Attempt<T>> {
  try {
    return { value: await work() };
  } catch (refusal) {
    if (!(refusal instanceof NodepoolError) || refusal.kind === 'usage') throw refusal;
    return { refusal };
  }
}
