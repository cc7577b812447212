import type { Log } from '../controller/log.ts';
import { cutText, oneLine } from '../print/error.ts';
import { sanitizeJson } from '../print/sanitize.ts';
import type { Io } from './io.ts';

const LEVELS = { error: 0, warning: 0, info: 0, debug: 4 } as const;

/** Logs to stderr, a line for each entry: text, or JSON with the fields. Debug entries from verbosity 4 on. */
export function createLog(io: Io, format: 'text' | 'json', verbosity: number): Log {
  return (level, message, fields) => {
    if (LEVELS[level] > verbosity) return;
    const time = io.now().toISOString();
    // As JSON escapes: those of err() would break the JSON.
    if (format === 'json') io.err(sanitizeJson(JSON.stringify({ time, level, message, ...fields }, withinLimit)));
    else io.err(`${time} ${level.padEnd(7)} ${oneLine(message.replaceAll('\n', ' '))}`);
  };
}

/** JSON.stringify's replacer. */
function withinLimit(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? cutText(value) : value;
}
