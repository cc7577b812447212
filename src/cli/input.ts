/** Reads `-f`: a file, a directory, a URL or stdin, parsed into documents that know their source. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { NodepoolError } from '../nodepool/errors.ts';
import { fetchText, shownUrl } from './fetch-text.ts';
import type { Io } from './io.ts';
import { type InputDocument, parseDocuments } from './yaml.ts';

const EXTENSIONS = ['.json', '.yaml', '.yml'];

/**
 * All documents of the sources, in order. A directory gives its *.yaml, *.yml and *.json, sorted, without subdirectories,
 * as for `kubectl create -f`. Throws an input error that names the source, and the line where there is one.
 * @param urlDeadlineMs longest wait for a URL; 0 waits for ever; default 30,000
 */
export async function readInput(sources: string[], io: Io, urlDeadlineMs?: number): Promise<InputDocument[]> {
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
    throw new NodepoolError('input', `${names}: no object in it`, 'write a pool into it, or name another file');
  }
  return documents;
}

async function readSource(source: string, io: Io, urlDeadlineMs: number | undefined) {
  const name = sourceName(source);
  if (source === '') throw new NodepoolError('usage', '-f: the name is empty', 'look for a variable that is not set');
  if (source === '-') return [{ name, text: await readAll(io.stdin) }];
  if (isUrl(source)) return [{ name, text: await fetchText(source, urlDeadlineMs) }];
  try {
    if (!(await stat(source)).isDirectory()) return [{ name, text: await readFile(source, 'utf8') }];
    const entries = await readdir(source, { withFileTypes: true });
    const files = entries.filter(entry => !entry.isDirectory() && EXTENSIONS.includes(extname(entry.name)));
    const paths = files.map(file => join(source, file.name)).sort();
    return await Promise.all(paths.map(async path => ({ name: shownUrl(path), text: await readFile(path, 'utf8') })));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'no such file' : code === 'EACCES' ? 'permission denied' : withoutPath(message);
    // The cause contains the name as it was given, with its secrets.
    throw new NodepoolError('input', `${name}: ${reason}`, 'check the path', name === source ? { cause: error } : {});
  }
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
