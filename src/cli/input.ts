/** Reads `-f` (a file, a directory, a pattern, a URL or stdin) into documents that know their source. */
import { createReadStream, existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { MAX_TIMER_MS } from '../controller/clock.ts';
import type { WebAnswer } from '../kube/web.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { MAX_TEXT_LENGTH } from '../nodepool/spec/text-limits.ts';
import { decodeText } from '../nodepool/text.ts';
import { getFromWeb } from './factory.ts';
import type { Io } from './io.ts';
import { type InputDocument, parseDocuments } from './yaml.ts';

/** A character takes at most 4 bytes. */
const MAX_BYTES = 4 * MAX_TEXT_LENGTH;
const EXTENSIONS = ['.json', '.yaml', '.yml'];

export interface InputOptions {
  /** What the command expects, for the next step of an error: `a pool`. */
  what?: string;
  /** Longest wait for a URL; 0: no limit; default 30,000. */
  urlDeadlineMs?: number | undefined;
  /** Also read the subdirectories of a directory. */
  recursive?: boolean;
}

/**
 * All documents of the sources, in order. A directory stands for its sorted *.yaml, *.yml and *.json files, a pattern
 * for the matching paths, as in `kubectl create -f`. Throws an input error with the source and, if known, the line.
 */
export async function readInput(
  sources: string[],
  io: Io,
  { what = 'a pool', ...options }: InputOptions = {},
): Promise<InputDocument[]> {
  if (sources.filter(source => source === '-').length > 1) {
    throw new NodepoolError('usage', '-f - is given twice, but stdin can be read only once');
  }
  const documents: InputDocument[] = [];
  for (const source of sources) {
    for (const { name, text } of await readSource(source, io, options)) {
      documents.push(...parseDocuments(text, name, 'correct the input and run the command again'));
    }
  }
  if (documents.length === 0) {
    const names = sources.map(sourceName).join(', ');
    throw new NodepoolError('input', `${names}: contains no object`, `add ${what} to the file, or name another file`);
  }
  return documents;
}

async function readSource(source: string, io: Io, { urlDeadlineMs, recursive = false }: InputOptions) {
  const name = sourceName(source);
  if (source === '') throw new NodepoolError('usage', '-f: the name is empty', 'check for an unset shell variable');
  if (source === '-') return [{ name, text: await readAll(io.stdin, name) }];
  if (isUrl(source)) return [{ name, text: await fetchText(source, io.env, urlDeadlineMs) }];
  try {
    const paths = existsSync(source) ? [] : await matchesOf(source);
    const files = await Promise.all((paths.length > 0 ? paths : [source]).map(path => filesIn(path, recursive)));
    return await Promise.all(files.flat().map(readFile));
  } catch (error) {
    if (error instanceof NodepoolError) throw error;
    const { code, message, path = source } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'no such file' : code === 'EACCES' ? 'permission denied' : withoutPath(message);
    const where = sourceName(path);
    // The cause contains the path as the user wrote it, with its secrets.
    throw new NodepoolError('input', `${where}: ${reason}`, 'check the path', where === path ? { cause: error } : {});
  }
}

/** A path to a file is returned as is, whatever its extension. */
async function filesIn(path: string, recursive: boolean): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const entries = await readdir(path, { withFileTypes: true });
  const files = entries.toSorted(byName).map(async entry => {
    if (entry.isDirectory()) return recursive ? filesIn(join(path, entry.name), true) : [];
    return EXTENSIONS.includes(extname(entry.name)) ? [join(path, entry.name)] : [];
  });
  return (await Promise.all(files)).flat();
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1;
}

const MAGIC = process.platform === 'win32' ? /[*?[]/ : /[*?[\\]/;
/** A class of characters and ranges, or a single character; \ escapes a character. */
const TOKEN = /\[(?:\^|(?!\^))(?:(?:\\.|[^\]\\-])(?:-(?:\\.|[^\]\\-]))?)+\]|\\.|[^[\\]/suy;

/** The paths that a pattern matches, sorted within each directory, like Go's filepath.Glob, which kubectl uses. */
async function matchesOf(pattern: string): Promise<string[]> {
  if (!MAGIC.test(pattern)) return [];
  const folder = dirname(pattern);
  const tokens = tokensOf(basename(pattern));
  const folders = MAGIC.test(folder) ? await matchesOf(folder) : [folder];
  const matches = folders.map(async each => {
    const names = await readdir(each).catch(() => []);
    return names
      .filter(name => isMatch(tokens, [...name]))
      .sort()
      .map(name => join(each, name));
  });
  return (await Promise.all(matches)).flat();
}

function tokensOf(pattern: string): string[] {
  const tokens: string[] = [];
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < pattern.length; ) {
    const [token] = TOKEN.exec(pattern) ?? [];
    if (token === undefined) throw new Error('syntax error in the pattern: an unclosed [ or a trailing \\');
    tokens.push(token);
  }
  return tokens;
}

/** Backtracks only to the last `*`, with one more character at a time: earlier ones never need another length. */
function isMatch(tokens: readonly string[], name: readonly string[]): boolean {
  let [token, at, star, afterStar] = [0, 0, -1, 0];
  while (at < name.length) {
    if (tokens[token] === '*') [star, afterStar, token] = [token, at, token + 1];
    else if (isOne(tokens[token], name[at])) [token, at] = [token + 1, at + 1];
    else if (star >= 0) [token, at, afterStar] = [star + 1, afterStar + 1, afterStar + 1];
    else return false;
  }
  return tokens.slice(token).every(rest => rest === '*');
}

/** @param token `?`, a class such as `[a-c0]` or `[^a]`, or a literal character, which may follow \ */
function isOne(token = '', character = ''): boolean {
  if (token === '?') return true;
  if (!token.startsWith('[')) return token.replace(/^\\/, '') === character;
  const isNegated = token[1] === '^';
  const ranges = token.slice(isNegated ? 2 : 1, -1).matchAll(/\\?(.)(?:-\\?(.))?/gsu);
  const isIn = ranges.some(([, first = '', last = first]) => first <= character && character <= last);
  return isIn !== isNegated;
}

async function readFile(path: string) {
  const name = shownUrl(path);
  return { name, text: await readAll(createReadStream(path), name) };
}

/** Stops reading at the parser's size limit: a pipe may never end. */
async function readAll(stream: Readable, name: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) {
      const message = `${name}: longer than ${MAX_TEXT_LENGTH} characters, the limit`;
      throw new NodepoolError('input', message, 'split the file');
    }
    chunks.push(chunk);
  }
  return decodeText(Buffer.concat(chunks));
}

/** Matches any scheme: a URL with an unsupported scheme may also contain a password. */
function isUrl(source: string): boolean {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(source);
}

function sourceName(source: string): string {
  return source === '-' ? 'stdin' : shownUrl(source);
}

/** Removes the system call and the path at the end of Node's file system errors. */
function withoutPath(message: string): string {
  return message.replace(/, \w+ '.*'$/s, '');
}

// Downloads a text, with limits of time and size. Messages never contain the secrets of a URL.

const DEFAULT_DEADLINE_MS = 30_000;
/** The largest request of an API server (`MaxRequestBodyBytes` of k8s.io/apiserver). */
const MAX_ANSWER_BYTES = 3 * 1024 * 1024;

/** The limit of Go's HTTP client, which kubectl uses. */
const MAX_REDIRECTS = 10;

/**
 * The URL for messages, without user, password, query and fragment, each of which may be a secret. An unencoded
 * password may contain any character, so nothing before the last @ is shown. A file name is returned unchanged, unless
 * it may be a mistyped URL.
 */
export function shownUrl(url: string): string {
  const [, scheme = '', slashes = '', rest = ''] = /^\s*([^\s:/\\@]+:)([/\\]*)(.*)$/s.exec(url) ?? [];
  const at = rest.lastIndexOf('@');
  const isWeb = slashes.length > 1 || /https?:$/i.test(scheme);
  if (!isWeb && at < 0) return url;
  const query = isWeb ? rest.search(/[?#]/) : -1;
  // The @ may belong to the query, or the ? to the password.
  if (query >= 0 && query < at) return `${scheme}${slashes}...`;
  const hidden = rest.slice(0, at + 1);
  const shown = rest.slice(at + 1, query < 0 ? undefined : query);
  // An @ in a path usually precedes a version: the part after it alone would look like another host.
  return scheme + slashes + (/[/\\]/.test(hidden) ? '...@' : '') + shown;
}

/**
 * @param env has the proxy settings
 * @param deadlineMs for the whole download; 0 waits forever. Throws an input error that names the URL.
 */
export async function fetchText(url: string, env: Io['env'], deadlineMs = DEFAULT_DEADLINE_MS): Promise<string> {
  const shown = shownUrl(url);
  const ms = Math.min(deadlineMs, MAX_TIMER_MS);
  const signal = ms === 0 ? new AbortController().signal : AbortSignal.timeout(ms);
  try {
    const { status, headers, body } = await follow(url, env, signal);
    if (status < 200 || status >= 300) {
      throw new NodepoolError('input', `${shown}: the server answered ${status}`, 'check the URL');
    }
    // Compression was not requested: Node's decompression accepts a truncated body as complete.
    const { 'content-encoding': encoding = 'identity' } = headers;
    if (encoding !== 'identity') {
      const next = 'download the file with another tool and pipe it to -f -';
      throw new NodepoolError('input', `${shown}: the server sent a compressed file, which was not requested`, next);
    }
    if (body.length > MAX_ANSWER_BYTES) {
      const message = `${shown}: larger than 3 MiB, the limit of an API server`;
      throw new NodepoolError('input', message, 'check the URL, or split the file');
    }
    return decodeText(body);
  } catch (error) {
    if (!signal.aborted) throw error;
    const next = 'try again, or wait longer with --request-timeout';
    throw new NodepoolError('input', `${shown}: no answer within ${deadlineMs / 1000} s`, next, { cause: error });
  }
}

/** Follows redirects, except from https to http, where anyone on the network could change the text. */
async function follow(url: string, env: Io['env'], signal: AbortSignal): Promise<WebAnswer> {
  let at = checked(url, url);
  for (let redirects = 0; ; redirects++) {
    const answer = await ask(at, place(redirects === 0 ? url : at.href, url), env, signal);
    const { location } = answer.headers;
    if (answer.status < 300 || answer.status >= 400 || location === undefined) return answer;
    const next = checked(URL.parse(location, at)?.href ?? location, url);
    const leads = `${shownUrl(url)}: redirects to ${shownUrl(next.href)}`;
    if (at.protocol === 'https:' && next.protocol !== 'https:') {
      throw new NodepoolError('input', `${leads}, which is not https`, 'if you trust that URL, give it to -f');
    }
    if (redirects === MAX_REDIRECTS) {
      throw new NodepoolError('input', `${leads} after ${MAX_REDIRECTS} redirects`, 'check the URL');
    }
    at = next;
  }
}

/** @param shown the URL for messages */
async function ask(at: URL, shown: string, env: Io['env'], signal: AbortSignal): Promise<WebAnswer> {
  const headers = { 'accept-encoding': 'identity', 'user-agent': 'kubectl-nodepool' };
  try {
    return await getFromWeb(at, { headers, env, signal, maxBytes: MAX_ANSWER_BYTES });
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    throw new NodepoolError('input', `${shown}: ${error.message}`, error.next, { cause: error });
  }
}

/** @param requestedUrl the URL that the user entered, for messages */
function checked(url: string, requestedUrl: string): URL {
  const parsed = URL.parse(url);
  const where = place(url, requestedUrl);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    const next = 'use an http or https URL, or download the file and name it';
    throw new NodepoolError('input', `${where}: not an http or https URL`, next);
  }
  if (parsed.username === '' && parsed.password === '') return parsed;
  const next = 'download the file with a tool that logs in and pipe it to -f -';
  throw new NodepoolError('input', `${where}: URLs with a user or password are not supported`, next);
}

/** The URL that the user entered, and the URL it redirects to. */
function place(url: string, requestedUrl: string): string {
  const requested = shownUrl(requestedUrl);
  return url === requestedUrl ? requested : `${requested}: ${shownUrl(url)}`;
}
