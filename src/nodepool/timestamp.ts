/** meta/v1 Time as JSON: RFC 3339 with seconds. */
export function timestamp(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}
