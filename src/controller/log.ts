/** Receives one call for each line. Nothing in this folder writes to a stream itself. */
export type Log = (
  level: 'debug' | 'info' | 'warning' | 'error',
  message: string,
  /** The same data for structured logs. */
  fields?: Readonly<Record<string, unknown>>,
) => void;

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
