import { NodepoolError } from './errors.ts';

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
