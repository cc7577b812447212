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

export function thisMachine(): Machine {
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

/** The commit of the sources. Throws where they differ from it: a page would name a commit that nobody can measure. */
export function commit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT }).toString().trim();
  if (git('status', '--porcelain', '--', ':!docs') !== '') throw new Error('the sources are not committed');
  return git('rev-parse', '--short=12', 'HEAD');
}

/**
 * @param kubectl path of the program, which is asked for its version
 * @param others paths of Go programs
 */
export function versions(kubectl: string, others: string[] = []): Record<string, string> {
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
