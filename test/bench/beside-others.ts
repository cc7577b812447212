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

/** The paths of the other programs. */
export function othersIn(folder: string): string[] {
  return OTHERS.map(({ name }) => join(folder, name));
}

/**
 * The peer is the least that a program in another process can take: curl of one answer in protobuf, which it discards.
 * @param folder has the other programs; without it they are left out
 */
export function besideOthers(
  cluster: ControlPlane,
  programs: Programs,
  env: Record<string, string>,
  { folder, held }: { folder: string | undefined; held: boolean },
): Race {
  const other = (folder: string) =>
    OTHERS.map(({ name, args, says }) => contender(name, [join(folder, name), ...args], env, says));
  return {
    title: 'Every node read, beside curl of the same nodes in protobuf',
    peer: contender('curl', curlOf(cluster), env, /^200$/),
    others: [
      ...ofExecutables(programs, env, readingNodes(held ? { ratio: 1.35, rss: 100 } : {})),
      ...(folder === undefined ? [] : other(folder)),
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
