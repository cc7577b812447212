/** meta/v1 Time as JSON writes it: RFC 3339, to the second. */
export function timestamp(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}
