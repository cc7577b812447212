/** The error of a word that is no command: what to type instead, where other tools have a command of that name. */
import { NodepoolError } from '../nodepool/errors.ts';
import { own } from '../nodepool/json.ts';
import { suggest } from '../nodepool/suggest.ts';

/** Each completes "next: ". BIN stands for the program. */
const INSTEAD: Record<string, string> = {
  ls: 'BIN get',
  list: 'BIN get',
  show: 'BIN get, or BIN describe NAME',
  status: 'BIN get, or BIN describe NAME',
  apply: 'kubectl apply -f FILE, then BIN reconcile; BIN create -f FILE for new pools',
  replace: 'kubectl replace -f FILE, then BIN reconcile',
  patch: 'BIN edit NAME --label KEY=VALUE --taint KEY=VALUE:EFFECT, or kubectl patch npool',
  set: 'BIN edit NAME --label KEY=VALUE --taint KEY=VALUE:EFFECT',
  update: 'BIN edit NAME',
  label:
    "BIN edit NAME --label KEY=VALUE for the labels of the pool's nodes; kubectl label npool for those of the pool",
  taint: 'BIN edit NAME --taint KEY=VALUE:EFFECT; KEY:EFFECT- removes one',
  annotate: 'kubectl annotate npool NAME KEY=VALUE',
  scale: 'BIN add NAME NODE... for nodes that exist; a pool creates no machines',
  autoscale: 'BIN add NAME NODE... for nodes that exist; a pool creates no machines',
  rm: 'BIN delete NAME',
  del: 'BIN delete NAME',
  'describe-pool': 'BIN describe NAME',
  sync: 'BIN reconcile',
  watch: 'BIN view, BIN get --watch or BIN reconcile --watch',
  rollout: 'BIN diff, then BIN reconcile',
  logs: 'BIN events; of the controller: kubectl -n nodepool-system logs deployment/nodepool-controller',
  history: 'BIN events',
  explain: 'kubectl explain npool.spec',
  config: 'kubectl config',
  'cluster-info': 'kubectl cluster-info, or BIN doctor',
  evict: 'BIN drain NAME',
  pods: 'BIN top --pods, or kubectl get pods -o wide',
  pools: 'BIN get',
  nodepool: 'BIN get',
  nodepools: 'BIN get',
  npool: 'BIN get',
  node: 'BIN nodes',
  import: 'BIN adopt',
};

/** @param bin the program's name: `kubectl nodepool` */
export function unknownCommand(name: string, bin: string, commands: string[]): NodepoolError {
  if (name.startsWith('-')) {
    return new NodepoolError(
      'usage',
      `unknown flag ${name.replace(/=.*/s, '')} before the command`,
      `write the flags of a command after it, as in \`${bin} get -o wide\`; \`${bin} options\` lists those that may come first`,
    );
  }
  const instead = own(INSTEAD, name)?.replaceAll('BIN', bin);
  if (instead !== undefined) return new NodepoolError('usage', `unknown command "${name}"`, instead);
  const meant = suggest(name, [...commands, 'help', 'options']);
  return new NodepoolError(
    'usage',
    `unknown command "${name}"${meant === undefined ? '' : `; did you mean "${meant}"?`}`,
  );
}
