/** Reads `-f`: a file, a directory, a URL or stdin, parsed into documents that know their source. */
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { NodepoolError } from '../nodepool/errors.ts';
import { MAX_TEXT_LENGTH } from '../nodepool/spec/text-limits.ts';
import { fetchText, shownUrl } from './fetch-text.ts';
import type { Io } from './io.ts';
import { type InputDocument, parseDocuments } from './yaml.ts';

/** A character has at most 4 bytes. */
const MAX_BYTES = 4 * MAX_TEXT_LENGTH;
const EXTENSIONS = ['.json', '.yaml', '.yml'];

export interface InputOptions {
  /** What the command takes, for the next step of an error: `a pool`. */
  what?: string;
  /** Longest wait for a URL; 0 waits for ever; default 30,000. */
  urlDeadlineMs?: number | undefined;
}

/**
 * All documents of the sources, in order. A directory gives its *.yaml, *.yml and *.json, sorted, without subdirectories,
 * as for `kubectl create -f`. Throws an input error that names the source, and the line where there is one.
 */
export async function readInput(
  sources: string[],
  io: Io,
  { what = 'a pool', urlDeadlineMs }: InputOptions = {},
): Promise<InputDocument[]> {
  if (sources.filter(source => source === '-').length > 1) {
    throw new NodepoolError('usage', '-f - is given twice, and stdin can be read once');
  }
  const documents: InputDocument[] = [];
  for (const source of sources) {
    for (const { name, text } of await readSource(source, io, urlDeadlineMs)) {
      documents.push(...parseDocuments(text, name, 'correct it there and run the command again'));
    }
  }
  if (documents.length === 0) {
    const names = sources.map(sourceName).join(', ');
    throw new NodepoolError('input', `${names}: no object in it`, `write ${what} into it, or name another file`);
  }
  return documents;
}

async function readSource(source: string, io: Io, urlDeadlineMs: number | undefined) {
  const name = sourceName(source);
  if (source === '') throw new NodepoolError('usage', '-f: the name is empty', 'look for a variable that is not set');
  if (source === '-') return [{ name, text: await readAll(io.stdin, name) }];
  if (isUrl(source)) return [{ name, text: await fetchText(source, urlDeadlineMs) }];
  try {
    if (!(await stat(source)).isDirectory()) return [await readFile(source)];
    const entries = await readdir(source, { withFileTypes: true });
    const files = entries.filter(entry => !entry.isDirectory() && EXTENSIONS.includes(extname(entry.name)));
    const paths = files.map(file => join(source, file.name)).sort();
    return await Promise.all(paths.map(readFile));
  } catch (error) {
    if (error instanceof NodepoolError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'no such file' : code === 'EACCES' ? 'permission denied' : withoutPath(message);
    // The cause contains the name as it was given, with its secrets.
    throw new NodepoolError('input', `${name}: ${reason}`, 'check the path', name === source ? { cause: error } : {});
  }
}

async function readFile(path: string) {
  const name = shownUrl(path);
  return { name, text: await readAll(createReadStream(path), name) };
}

/** Stops reading where the parser would refuse the text: a pipe may have no end. */
async function readAll(stream: Readable, name: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) {
      const message = `${name}: it has more than ${MAX_TEXT_LENGTH} characters, which are the most that are read`;
      throw new NodepoolError('input', message, 'split it into several files');
    }
    chunks.push(chunk);
  }
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(chunks));
}

/** Of any scheme: also one that is not supported may contain a password. */
function isUrl(source: string): boolean {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(source);
}

function sourceName(source: string): string {
  return source === '-' ? 'stdin' : shownUrl(source);
}

/** Node's file system errors end with the call and its path. */
function withoutPath(message: string): string {
  return message.replace(/, \w+ '.*'$/s, '');
}
