/** The errors about some of several objects, after those that were shown or written. */
import { showError } from '../../cli/error-line.ts';
import type { Io } from '../../cli/io.ts';
import { EXIT } from '../../cli/report-error.ts';
import type { NodepoolError } from '../../nodepool/errors.ts';

/** Returns the exit code. */
export function reportErrors(errors: readonly NodepoolError[], io: Io): number {
  for (const error of errors) showError(io, error);
  if (errors.some(({ kind }) => kind === 'interrupted')) return EXIT.interrupted;
  return errors.length > 0 ? EXIT.error : EXIT.done;
}
