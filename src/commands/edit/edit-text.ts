/** Edits a pool as text in an editor. Changes that others make in the meantime are not overwritten. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorLine } from '../../cli/errors.ts';
import type { Io } from '../../cli/io.ts';
import { onEndingSignal } from '../../cli/signals.ts';
import type { RawPool } from '../../kube/cluster.ts';
import { DeclinedError, NodepoolError } from '../../nodepool/errors.ts';
import { applyMergePatch, isObject, mergePatch, overlappingPaths, ownValue } from '../../nodepool/json.ts';
import { LAST_APPLIED } from '../../nodepool/spec/annotations.ts';
import { singleQuoted } from '../../nodepool/text.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { agree } from '../shared/consent/consent.ts';
import { assertValid } from '../shared/create/create.ts';
import { assertRestored, type EditResult } from '../shared/edit/edit.ts';
import { alteredPool, MAX_ATTEMPTS, patchAndSave } from '../shared/edit/guarded-patch.ts';
import { type EditOptions, type ProposedEdit, proposeEdit } from '../shared/edit/plan-edit.ts';
import { namesToSuggest, poolNotFound } from '../shared/pools/not-found.ts';

/** The user's editor on one file, which exists until it is removed, even after an error. */
interface EditSession {
  /** The path of the file, shown to the user if the text is to be kept. */
  path: string;
  /** Writes the text, opens the editor, waits for it and resolves with what was saved. */
  edit(text: string): Promise<string>;
  remove(): Promise<void>;
}

interface TextEdit {
  editor: EditSession;
  /** Strict decoding of YAML or JSON text; throws NodepoolError with the line or the field. */
  decode: (text: string) => NodePool;
  print: (pool: object) => string;
}

const HEAD = [
  "Edit the pool below. Lines beginning with a '#' are ignored. An empty file, or a file without changes, cancels the edit.",
  'If an error occurs while saving, this file is reopened with the error at the top.',
];

export async function editAsText(name: string, text: TextEdit, options: EditOptions): Promise<EditResult> {
  const { cluster } = options;
  const { editor } = text;
  let original = await cluster.pools.get(name);
  if (original === undefined) throw poolNotFound('edit', [name], await namesToSuggest('edit', [name], cluster));
  let body = text.print(editable(original));
  let problem: NodepoolError | undefined;
  while (true) {
    const saved = withoutComments(await editor.edit(head(problem) + body));
    if (saved.trim() === '') return cancel(editor, 'the saved file was empty');
    if (saved === withoutComments(body)) {
      if (problem === undefined) return cancel(editor, 'no changes made');
      throw keep(editor, 'no valid changes were saved', ...problem.lines);
    }
    body = saved;
    try {
      const edited = decodeSame(saved, original, text.decode);
      assertRestored(original, edited.spec);
      const patch = mergePatch(editable(original), editable(edited));
      if (patch === undefined) return cancel(editor, 'no changes made');
      const result = await save(original, patch, editor, options);
      if (result.kind === 'written') {
        if (result.altered !== undefined) throw keep(editor, 'the server changed your edit', result.altered.oneLine);
        await editor.remove();
        return { kind: 'edited', pool: result.pool, before: original, notFound: [], released: result.released };
      }
      if (result.kind !== 'overlaps') {
        const what = result.kind === 'gone' ? 'was deleted' : 'was changed by somebody else';
        throw keep(editor, 'nothing was overwritten', `pool ${name} ${what} while it was being edited`);
      }
      problem = overlapError(name, result);
      original = result.latest;
      body = text.print(applyMergePatch(editable(original), patch));
    } catch (error) {
      if (!(error instanceof NodepoolError) || error instanceof KeptError || error instanceof DeclinedError)
        throw error;
      problem = error;
    }
  }
}

/** A declined proposal is not edited again: the text is kept. */
async function agreeOrKeep(
  before: RawPool,
  after: RawPool,
  editor: EditSession,
  options: EditOptions,
): Promise<ProposedEdit['released']> {
  const { approve, warn } = options;
  const propose = async () => {
    const proposal = await proposeEdit(before, after, options);
    warn(proposal.warnings);
    return proposal;
  };
  try {
    const agreed = await agree(propose, approve);
    if (agreed === undefined) throw new DeclinedError();
    return agreed.proposal.released;
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    if (error instanceof DeclinedError) throw new DeclinedError(error.message, findIn(editor));
    throw keep(editor, 'the edit was not saved', [error.message, error.next].filter(Boolean).join('; '));
  }
}

type SaveResult =
  /** altered: how the response differs from the request. */
  | { kind: 'written'; pool: RawPool; altered: NodepoolError | undefined; released: ProposedEdit['released'] }
  | { kind: 'gone' | 'conflict' }
  /** Somebody else also changed these fields. */
  | { kind: 'overlaps'; latest: RawPool; paths: string[][] };

/** Keeps what others wrote to other fields in the meantime, as kubectl edit does; a list is one field. */
async function save(
  original: RawPool,
  patch: Record<string, unknown>,
  editor: EditSession,
  options: EditOptions,
): Promise<SaveResult> {
  const { pools } = options.cluster;
  const { name } = original.metadata;
  let read = original;
  for (let attempt = 1; ; attempt++) {
    const sent = applyMergePatch(editable(read), patch) as unknown as RawPool;
    assertValid(sent);
    const released = await agreeOrKeep(read, { ...read, spec: sent.spec }, editor, options);
    const result = await patchAndSave(read, sent, patch, options);
    if (result.kind === 'written') return { ...result, altered: alteredPool(sent, result.pool, read), released };
    if (result.kind === 'gone' || attempt === MAX_ATTEMPTS) return { kind: result.kind };
    const latest = await pools.get(name);
    if (latest === undefined) return { kind: 'gone' };
    if (latest.metadata.uid !== original.metadata.uid) return { kind: 'conflict' };
    const paths = overlappingPaths(patch, mergePatch(editable(original), editable(latest)) ?? {});
    if (paths.length > 0) return { kind: 'overlaps', latest, paths };
    read = latest;
  }
}

function overlapError(name: string, { latest, paths }: { latest: RawPool; paths: string[][] }): NodepoolError {
  const fields = paths.map(path => {
    const value = path.reduce<unknown>((at, key) => (isObject(at) ? ownValue(at, key) : undefined), latest);
    const [top = '', second, ...rest] = path;
    const field = [top, ...(second === undefined ? [] : [`.${second}`]), ...rest.map(key => `[${key}]`)].join('');
    return `${field} is now ${value === undefined ? 'removed' : JSON.stringify(value)}`;
  });
  return new NodepoolError(
    'input',
    `somebody else changed pool ${name} during the edit: ${fields.join(', ')}`,
    'to save your values anyway, change anything in this file, such as an empty line, and save it',
  );
}

/** What a user edits: no status, server-managed metadata or kubectl apply annotation, which repeats the values. */
function editable(pool: NodePool): Record<string, unknown> {
  const { status: _status, ...rest } = pool as RawPool;
  const {
    managedFields: _managed,
    creationTimestamp: _created,
    generation: _generation,
    resourceVersion: _version,
    uid: _uid,
    selfLink: _link,
    annotations,
    ...metadata
  } = rest.metadata as unknown as Record<string, unknown>;
  const { [LAST_APPLIED]: _applied, ...others } = isObject(annotations) ? annotations : {};
  return { ...rest, metadata: { ...metadata, ...(Object.keys(others).length > 0 ? { annotations: others } : {}) } };
}

function decodeSame(text: string, original: RawPool, decode: TextEdit['decode']): NodePool {
  try {
    return decodePoolOf(text, original, decode);
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    // Line numbers must match the file that is opened again or kept, which begins with this error.
    return decodePoolOf('\n'.repeat(head(error).split('\n').length - 1) + text, original, decode);
  }
}

function decodePoolOf(text: string, original: RawPool, decode: TextEdit['decode']): NodePool {
  const pool = decode(text);
  if (pool.metadata.name !== original.metadata.name) {
    throw new NodepoolError(
      'input',
      `metadata.name: "${pool.metadata.name}" is a different pool`,
      'a pool cannot be renamed',
    );
  }
  assertValid(pool);
  return pool;
}

/** YAML has other line breaks than newline, which end a comment: they and invisible characters become spaces. */
function head(problem: NodepoolError | undefined): string {
  const reason = problem === undefined ? [] : ['', ...`error: ${problem.message}`.split('\n')];
  const next = problem?.next === undefined ? [] : [`next: ${problem.next}`];
  return [...HEAD, ...reason, ...next, '']
    .map(line => `${`# ${line.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ')}`.trimEnd()}\n`)
    .join('');
}

/** Removes the comment lines of the head and of the user, which have no meaning in YAML. */
function withoutComments(text: string): string {
  return text
    .split(/\r?\n/)
    .filter(line => !line.startsWith('#'))
    .join('\n');
}

async function cancel(editor: EditSession, why: string): Promise<EditResult> {
  await editor.remove();
  return { kind: 'cancelled', why };
}

/** The file with the text was kept; the message has its path. */
class KeptError extends NodepoolError {}

function keep(editor: EditSession, outcome: string, reason = '', ...items: string[]): KeptError {
  return new KeptError('input', `${outcome}: ${reason}`, findIn(editor), { items });
}

function findIn({ path }: EditSession): string {
  return `find your text in ${path}`;
}

// Runs the user's editor on a temporary file. Independent of pools.

/** Time that an editor gets to restore the terminal. */
const LEAVE_MS = 1_000;

/** A new file in a private folder, also for the editor's backups. A signal that ends this process prints its path. */
export function createEditSession({ env, err }: Pick<Io, 'env' | 'err'>): EditSession {
  const folder = join(tmpdir(), `kubectl-nodepool-edit-${randomBytes(6).toString('hex')}`);
  const path = join(folder, 'nodepool.yaml');
  let editor: ChildProcess | undefined;
  let unsubscribe: (() => void) | undefined;
  const leave = (signal: NodeJS.Signals) => {
    const end = () => {
      unsubscribe?.();
      err(errorLine({ message: `${signal} ended the editor`, next: `find your text in ${path}` }));
      process.kill(process.pid, signal);
    };
    if (editor === undefined) return end();
    // The editor handles Ctrl-C, and this process must outlive the editor.
    if (signal === 'SIGINT') return;
    editor.once('exit', end).kill(signal);
    setTimeout(end, LEAVE_MS);
  };
  const cannotWrite = (error: Error) => {
    const next = 'set TMPDIR to a directory that you can write to';
    throw new NodepoolError('input', `cannot write the text to ${path}: ${error.message}`, next, { cause: error });
  };
  return {
    path,
    async edit(text) {
      const isFirst = unsubscribe === undefined;
      // If the folder exists, it belongs to someone else, and mkdir fails.
      if (isFirst) await mkdir(folder, { mode: 0o700 }).catch(cannotWrite);
      await writeFile(path, text, { mode: 0o600, flag: isFirst ? 'wx' : 'w' }).catch(cannotWrite);
      unsubscribe ??= onEndingSignal(leave);
      await runEditor(editorCommand(env), path, child => {
        editor = child;
      }).finally(() => {
        editor = undefined;
      });
      return readFile(path, 'utf8').catch((error: Error) => {
        throw new NodepoolError('input', `the editor left no file at ${path}`, 'edit again', { cause: error });
      });
    },
    async remove() {
      unsubscribe?.();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** In the same order as kubectl. */
export function editorCommand(env: Record<string, string | undefined>, platform = process.platform): string {
  return env.KUBE_EDITOR || env.EDITOR || (platform === 'win32' ? 'notepad' : 'vi');
}

/** Runs in a shell, because the variable may contain arguments (`code --wait`). */
async function runEditor(command: string, path: string, onStart: (child: ChildProcess) => void): Promise<void> {
  const quoted = process.platform === 'win32' ? `"${path}"` : singleQuoted(path);
  const outcome = await new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    const child = spawn(`${command} ${quoted}`, { shell: true, stdio: 'inherit' });
    onStart(child);
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? signal));
  });
  if (outcome === 0) return;
  const next = outcome === 127 ? 'set KUBE_EDITOR to an editor that is installed' : undefined;
  throw new NodepoolError('input', `the editor "${command}" exited with ${outcome}; your text is in ${path}`, next);
}
