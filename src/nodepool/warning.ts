/** A warning to the user; a text alone has no next step. */
export type Warning = string | { message: string; next: string | undefined };

/** In one text, for a log, JSON and as a key. Nothing takes it apart: the message may contain "; next: " of others. */
export function warningText(warning: Warning): string {
  if (typeof warning === 'string') return warning;
  return warning.next === undefined ? warning.message : `${warning.message}; next: ${warning.next}`;
}

/** @param about precedes the message: the name of the pool */
export function warningAbout(about: string, warning: Warning): Warning {
  if (typeof warning === 'string') return `${about}: ${warning}`;
  return { ...warning, message: `${about}: ${warning.message}` };
}
