/** Ages and times in kubectl's format. */

export const UNKNOWN = '<unknown>';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** From k8s.io/apimachinery's HumanDuration: unit, minor unit up to an age, and the age where the next entry begins. */
const STEPS: { until: number; unit: number; letter: string; minor: number; minorLetter: string; minorUntil: number }[] =
  [
    { until: 2 * MINUTE, unit: 1, letter: 's', minor: 1, minorLetter: '', minorUntil: 0 },
    { until: 3 * HOUR, unit: MINUTE, letter: 'm', minor: 1, minorLetter: 's', minorUntil: 10 * MINUTE },
    { until: 2 * DAY, unit: HOUR, letter: 'h', minor: MINUTE, minorLetter: 'm', minorUntil: 8 * HOUR },
    { until: 2 * YEAR, unit: DAY, letter: 'd', minor: HOUR, minorLetter: 'h', minorUntil: 8 * DAY },
    { until: Infinity, unit: YEAR, letter: 'y', minor: DAY, minorLetter: 'd', minorUntil: 8 * YEAR },
  ];

/** Like kubectl's HumanDuration: `5s`, `2m3s`, `3h5m`, `2d3h`, `2y10d`. From -2 s on `0s`, below that `<invalid>`. */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  const step = STEPS.find(({ until }) => seconds < until);
  if (step === undefined) return UNKNOWN;
  const { unit, letter, minor, minorLetter, minorUntil } = step;
  const whole = `${Math.floor(seconds / unit)}${letter}`;
  const rest = Math.floor((seconds % unit) / minor);
  return seconds < minorUntil && rest > 0 ? `${whole}${rest}${minorLetter}` : whole;
}

/** The time since an RFC 3339 timestamp; `<unknown>` if it is missing. */
export function formatAge(since: string | undefined, now: Date): string {
  const then = since === undefined ? Number.NaN : Date.parse(since);
  return Number.isNaN(then) ? UNKNOWN : formatDuration(now.getTime() - then);
}

/** A timestamp and its age: `2026-11-21T06:00:00Z (2d3h ago)`. */
export function formatTimeAndAge(time: string | undefined, now: Date): string {
  if (time === undefined) return UNKNOWN;
  // Events have microseconds.
  return `${time.replace(/\.\d+Z$/, 'Z')} (${formatAge(time, now)} ago)`;
}
