/** The request log of `-v`: one line a request from level 6, headers and bodies from level 8. No credentials. */
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { ApiResponse } from './response.ts';

/** Calls `text` only if the level is printed. */
export type RequestLog = (level: number, text: () => string) => void;

/** Replaces a credential. */
export const HIDDEN = '<hidden>';

/** Maximum number of characters of a body that are printed. */
const MAX_SHOWN = 10_240;

export function logRequest(log: RequestLog, headers: OutgoingHttpHeaders, body: string | undefined): void {
  log(8, () => `request headers: ${shown(headers)}`);
  if (body !== undefined) log(8, () => `request body: ${cut(body)}`);
}

/** @param answer its body size is printed if there is no text: protobuf, or a streamed list */
export function logAnswer(
  log: RequestLog,
  method: string,
  url: URL,
  { status, headers, text, bytes }: ApiResponse & { bytes: number },
  ms: number,
): void {
  log(6, () => `${method} ${url} ${status} in ${Math.round(ms)} ms`);
  log(8, () => `answer headers: ${shownAnswer(headers)}`);
  log(8, () => `answer body: ${text === '' ? `${bytes} bytes of ${headers['content-type']}` : cut(text)}`);
}

/** Logs a watch, without its events. */
export function logStream(log: RequestLog, url: URL, { statusCode, headers }: IncomingMessage): void {
  log(6, () => `GET ${url} ${statusCode}, streaming`);
  log(8, () => `answer headers: ${shownAnswer(headers)}`);
}

function shown(headers: OutgoingHttpHeaders): string {
  return Object.entries(headers)
    .map(([name, value]) => (name.toLowerCase() === 'authorization' ? `${name}: ${HIDDEN}` : `${name}: ${value}`))
    .join(', ');
}

/** Hides cookies: the session cookie of a proxy is a credential. */
function shownAnswer(headers: IncomingHttpHeaders): string {
  return JSON.stringify('set-cookie' in headers ? { ...headers, 'set-cookie': HIDDEN } : headers);
}

function cut(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}… (${text.length} characters)`;
}

/** In kubectl's form, with Go's platform names: `kubectl-nodepool/1.2.3 (linux/amd64)`. */
export function userAgent(version: string, platform: string, arch: string): string {
  const os = platform === 'win32' ? 'windows' : platform;
  const cpu = { x64: 'amd64', ia32: '386' }[arch] ?? arch;
  return `kubectl-nodepool/${version} (${os}/${cpu})`;
}
