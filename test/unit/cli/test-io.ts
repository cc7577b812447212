import { PassThrough } from 'node:stream';
import { type Io, type IoFacts, withWriters } from '../../../src/cli/io.ts';

export interface TestIo extends Io {
  stdoutText(): string;
  stderrText(): string;
}

/** Streams in memory: no terminal, no colour, an empty environment, unless said otherwise. */
export function testIo(facts: Partial<Omit<IoFacts, 'stdin'>> & { stdin?: string } = {}): TestIo {
  const { stdin: input, ...others } = facts;
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  if (input !== undefined) stdin.end(input);
  const collected = { stdout: '', stderr: '' };
  stdout.on('data', (chunk: Buffer) => {
    collected.stdout += chunk.toString();
  });
  stderr.on('data', (chunk: Buffer) => {
    collected.stderr += chunk.toString();
  });
  const io = withWriters({
    stdin,
    stdout,
    stderr,
    stdinIsTTY: false,
    stdoutIsTTY: false,
    stderrIsTTY: false,
    columns: 80,
    color: false,
    errorColor: false,
    env: {},
    now: () => new Date('2026-01-01T00:00:00Z'),
    ...others,
  });
  return { ...io, stdoutText: () => collected.stdout, stderrText: () => collected.stderr };
}
