/** Where this folder reports what it survives: one call a line. Nothing here writes to a stream itself. */
export type Log = (
  level: 'debug' | 'info' | 'warning' | 'error',
  message: string,
  /** The same for machines, where the log is written for them. */
  fields?: Readonly<Record<string, unknown>>,
) => void;

/** The text of anything that may be thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
