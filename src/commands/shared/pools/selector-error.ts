import { NodepoolError } from '../../../nodepool/errors.ts';

/** When the server rejects a list, the selector of the command line is wrong: `input` becomes `usage`. */
export function selectorError(
  error: unknown,
  flag: string,
  selector: string,
  next = 'write it like a=b,c!=d,e',
): unknown {
  if (!(error instanceof NodepoolError) || error.kind !== 'input') return error;
  return new NodepoolError('usage', `${flag} "${selector}": ${error.message}`, next, { cause: error });
}
