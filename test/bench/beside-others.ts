/** Every node read, beside curl of the same nodes and beside other programs that list the nodes of pools. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { type Command, type Contender, contender, type Race } from './race.ts';
import type { Programs } from './races.ts';

/** What each of them says, by the name of its program. */
const OTHERS = {
  'kubectl-nodepools': { args: ['list'], says: /^NAME\s+NODES\s/ },
  'kube-capacity': { args: [], says: /^\* +/m },
} as const;

/**
 * The peer is the least that a program in another process can take: curl of one answer in protobuf, which it discards.
 * @param folder has the other programs; without it they are left out
 */
export function besideOthers(
  cluster: ControlPlane,
  { executable }: Programs,
  env: Record<string, string>,
  { folder, held }: { folder: string | undefined; held: boolean },
): Race {
  const most = held ? { ratio: 1.35, rss: 100 } : {};
  const ours = (says: RegExp, ...args: string[]) =>
    contender(`executable: ${args.join(' ')}`, [...executable, ...args], env, says, most);
  const others = Object.entries(OTHERS).map(
    ([name, { args, says }]): Contender => contender(name, [join(folder ?? '', name), ...args], env, says),
  );
  return {
    title: 'Every node read, beside curl of the same nodes in protobuf',
    peer: contender('curl', curlOf(cluster), env, /^200$/),
    others: [
      ours(/^pool-0 +200 .*\(unchanged\)/, 'reconcile'),
      ours(/^$/, 'diff'),
      ours(/^NAME +STATUS +POOL .*\nnode-/, 'nodes'),
      ours(/^POOL +NODES +CPU +MEM +PODS\n/, 'top', '--no-pods'),
      ...(folder === undefined ? [] : others),
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
