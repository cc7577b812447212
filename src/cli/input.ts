/** What `-f` names: a file, a directory, a URL or stdin, read and parsed into documents that know where they come from. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { NodepoolError } from '../nodepool/errors.ts';
import type { Io } from './io.ts';
import { type InputDocument, parseDocuments } from './yaml.ts';

const EXTENSIONS = ['.json', '.yaml', '.yml'];
const URL_DEADLINE_MS = 30_000;

/**
 * All documents of the sources, in order. A directory gives its *.yaml, *.yml and *.json, sorted, without subdirectories,
 * as for `kubectl create -f`. Throws an input error that names the source, and the line where there is one.
 */
export async function readInput(sources: string[], io: Io): Promise<InputDocument[]> {
  if (sources.filter(source => source === '-').length > 1) {
    throw new NodepoolError('usage', '-f - is given twice, and stdin can be read once');
  }
  const documents: InputDocument[] = [];
  for (const source of sources) {
    for (const { name, text } of await readSource(source, io)) documents.push(...parseDocuments(text, name));
  }
  if (documents.length === 0) {
    throw new NodepoolError('input', `${sources.map(sourceName).join(', ')}: no object in it`);
  }
  return documents;
}

async function readSource(source: string, io: Io): Promise<{ name: string; text: string }[]> {
  const name = sourceName(source);
  if (source === '-') return [{ name, text: await readAll(io.stdin) }];
  if (/^https?:\/\//.test(source)) return [{ name, text: await fetchText(source) }];
  try {
    if (!(await stat(source)).isDirectory()) return [{ name, text: await readFile(source, 'utf8') }];
    const entries = await readdir(source, { withFileTypes: true });
    const files = entries.filter(entry => !entry.isDirectory() && EXTENSIONS.includes(extname(entry.name)));
    const paths = files.map(file => join(source, file.name)).sort();
    return await Promise.all(paths.map(async path => ({ name: path, text: await readFile(path, 'utf8') })));
  } catch (error) {
    throw new NodepoolError('input', `${source}: ${reasonOf(error)}`, undefined, { cause: error });
  }
}

async function fetchText(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(URL_DEADLINE_MS) });
    if (!response.ok) throw new NodepoolError('input', `${url}: the server answered ${response.status}`);
    return await response.text();
  } catch (error) {
    if (error instanceof NodepoolError) throw error;
    throw new NodepoolError('input', `${url}: ${reasonOf(error)}`, undefined, { cause: error });
  }
}

function sourceName(source: string): string {
  return source === '-' ? 'stdin' : source;
}

/** fetch() hides what failed in the cause. */
function reasonOf(error: unknown): string {
  const shown = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const { code, name, message } = shown as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'no such file';
  if (code === 'EACCES') return 'permission denied';
  if (name === 'TimeoutError') return `no answer within ${URL_DEADLINE_MS / 1000} s`;
  return message || String(code);
}
