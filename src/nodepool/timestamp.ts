/** RFC 3339 has years of four digits. One year of margin, because durations are added to times. */
const [FIRST, LAST] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-01-01T00:00:00Z')];

/** In milliseconds; NaN for a text that is not a time, or that timestamp() cannot write: a kubelet may send any. */
export function parseTime(text: string | undefined): number {
  return writableTime(Date.parse(text ?? ''));
}

/** NaN for a time that timestamp() cannot write. */
export function writableTime(ms: number): number {
  return ms >= FIRST && ms < LAST ? ms : Number.NaN;
}

/** meta/v1 Time as JSON: RFC 3339 with seconds. */
export function timestamp(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}
