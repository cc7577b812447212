/** Every node read, beside curl of the same nodes and beside other programs that list the nodes of pools. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { type Command, contender, type Race } from './race.ts';
import { ofExecutables, type Programs, readingNodes } from './races.ts';

/** Programs that list the nodes of pools, and what they say. */
const OTHERS = [
  { name: 'kubectl-nodepools', args: ['list'], says: /^NAME\s+NODES\s/ },
  { name: 'kube-capacity', args: [], says: /^\* +/m },
];

export interface Other {
  name: string;
  command: Command;
  says: RegExp;
}

/** @param folder has the other programs; undefined: there are none to measure */
export function othersIn(folder: string | undefined): Other[] {
  if (folder === undefined) return [];
  return OTHERS.map(({ name, args, says }) => ({ name, command: [join(folder, name), ...args], says }));
}

/**
 * The peer is the least that a program in another process can take: curl of one answer in protobuf, which it discards.
 */
export function besideOthers(
  cluster: ControlPlane,
  programs: Programs,
  env: Record<string, string>,
  { others, held }: { others: Other[]; held: boolean },
): Race {
  return {
    title: 'Every node read, beside curl of the same nodes in protobuf',
    peer: contender('curl', curlOf(cluster), env, /^200$/),
    others: [
      ...ofExecutables(programs, env, readingNodes(held ? { ratio: 1.35, rss: 100 } : {})),
      ...others.map(({ name, command, says }) => contender(name, command, env, says)),
    ],
  };
}

function curlOf({ dir, server, ca, admin }: ControlPlane): Command {
  const files = { cacert: ca, cert: admin.cert, key: admin.key };
  const options = Object.entries(files).flatMap(([option, text]) => {
    const path = join(dir, `curl-${option}.pem`);
    writeFileSync(path, text, { mode: 0o600 });
    return [`--${option}`, path];
  });
  const accept = ['--header', 'Accept: application/vnd.kubernetes.protobuf'];
  const says = ['--output', '/dev/null', '--write-out', '%{http_code}'];
  return ['curl', '--silent', '--show-error', '--fail', ...options, ...accept, ...says, `${server}/api/v1/nodes`];
}
