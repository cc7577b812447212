/** The machine and the program versions of a measurement. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { basename } from 'node:path';
import { VERSIONS } from '../../test/cluster/programs.ts';
import { BUN_VERSION } from '../package/targets.ts';
import { ROOT } from '../root.ts';

export interface Machine {
  processor: string;
  cores: number;
  /** In GiB. */
  memory: number;
  system: string;
}

function thisMachine(): Machine {
  return {
    processor: cpus()[0]?.model ?? 'unknown processor',
    cores: availableParallelism(),
    memory: Math.round(totalmem() / 1024 ** 3),
    system: [distribution(), type(), release()].filter(part => part !== '').join(' '),
  };
}

/** Empty on a system without /etc/os-release. */
function distribution(): string {
  try {
    return /^PRETTY_NAME="(.*)"$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? '';
  } catch {
    return '';
  }
}

/** Of what, with what and where a measurement was made. */
export interface Origin {
  day: string;
  machine: Machine;
  versions: Record<string, string>;
  /** Of the sources. */
  commit: string;
}

export interface Compared {
  /** Path of the program, which is asked for its version. */
  kubectl: string;
  /** Paths of Go programs. */
  others?: string[];
  /** Commit of an older executable. */
  old?: string | undefined;
}

/**
 * Call it before the measuring: what cannot be read must not lose the results.
 * @param isWritten into a page, which has to name a commit
 */
export function originOf({ kubectl, others = [], old }: Compared, isWritten: boolean): Origin {
  return {
    day: new Date().toISOString().slice(0, 10),
    machine: thisMachine(),
    versions: { ...versions(kubectl, others), ...(old === undefined ? {} : { 'old executable': old }) },
    commit: isWritten ? commit() : 'of the working tree',
  };
}

/** The commit of the sources. Throws where they differ from it: a page would name a commit that nobody can measure. */
function commit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT }).toString().trim();
  if (git('status', '--porcelain', '--', ':!docs') !== '') throw new Error('the sources are not committed');
  return git('rev-parse', '--short=12', 'HEAD');
}

function versions(kubectl: string, others: string[]): Record<string, string> {
  const said = JSON.parse(execFileSync(kubectl, ['version', '--client', '-o', 'json']).toString());
  const { 'kube-apiserver': apiserver, etcd } = VERSIONS;
  return {
    kubectl: said.clientVersion.gitVersion,
    'kube-apiserver': apiserver,
    etcd,
    Node: process.version,
    Bun: `v${BUN_VERSION}`,
    curl: /^curl (\S+)/.exec(execFileSync('curl', ['--version']).toString())?.[1] ?? 'unknown',
    ...Object.fromEntries(others.map(path => [basename(path), moduleVersion(path)])),
  };
}

/** Of its main module, as Go has stamped it into a program that was built in a clone. */
function moduleVersion(path: string): string {
  const said = execFileSync('go', ['version', '-m', path]).toString();
  return /^\tmod\t\S+\t(\S+)/m.exec(said)?.[1] ?? 'unknown';
}
