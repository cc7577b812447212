/** Where something was measured, and with what. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { VERSIONS } from '../../test/cluster/programs.ts';
import { BUN_VERSION } from '../package/targets.ts';

export interface Machine {
  processor: string;
  cores: number;
  /** GiB. */
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

/** On a system without the file that names it, nothing. */
function distribution(): string {
  try {
    return /^PRETTY_NAME="(.*)"$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? '';
  } catch {
    return '';
  }
}

/** @param kubectl its path: it says itself which it is */
export function versions(kubectl: string): Record<string, string> {
  const said = JSON.parse(execFileSync(kubectl, ['version', '--client', '-o', 'json']).toString());
  const { 'kube-apiserver': apiserver, etcd } = VERSIONS;
  return {
    kubectl: said.clientVersion.gitVersion,
    'kube-apiserver': apiserver,
    etcd,
    Node: process.version,
    Bun: `v${BUN_VERSION}`,
  };
}
