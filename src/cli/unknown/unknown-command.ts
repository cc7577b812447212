/** The error for an unknown command; it suggests what to type if other tools have a command of that name. */
import { NodepoolError } from '../../nodepool/errors.ts';
import { ownValue } from '../../nodepool/json.ts';
import { suggest } from '../../nodepool/text.ts';
import { globalInstead } from './unknown-flag.ts';

const LABEL =
  "BIN edit NAME --label KEY=VALUE for labels of the pool's nodes; kubectl label npool for labels of the pool itself";
const SCALE = 'BIN add NAME NODE... for existing nodes; a pool creates no machines';
const CONTEXT = 'kubectl config use-context NAME, or --context NAME with any command: BIN get --context NAME';
const NAMESPACE =
  'BIN get; pools have no namespace. Other objects: kubectl config set-context --current --namespace=NAME';
const MAINTENANCE = 'BIN cordon or drain NAME --reason TEXT --until TIME; BIN uncordon NAME ends the maintenance';
const COPY = 'BIN get NAME -o yaml > FILE, change the name in FILE, then BIN create -f FILE';

/** Each text follows "next: ". BIN stands for the program. */
const INSTEAD: Record<string, string> = {
  ls: 'BIN get',
  list: 'BIN get',
  members: 'BIN nodes NAME',
  new: 'BIN create NAME',
  show: 'BIN get, or BIN describe NAME',
  status: 'BIN get, or BIN describe NAME',
  apply: 'kubectl apply -f FILE, then BIN reconcile; BIN create -f FILE for new pools',
  replace: 'kubectl replace -f FILE, then BIN reconcile',
  patch: 'BIN edit NAME --label KEY=VALUE --taint KEY=VALUE:EFFECT, or kubectl patch npool',
  set: 'BIN edit NAME --label KEY=VALUE --taint KEY=VALUE:EFFECT',
  update: 'BIN edit NAME',
  label: LABEL,
  tag: LABEL,
  unset: 'BIN edit NAME --label KEY- --taint KEY-',
  unlabel: 'BIN edit NAME --label KEY-',
  untaint: 'BIN edit NAME --taint KEY-',
  taint: 'BIN edit NAME --taint KEY=VALUE:EFFECT; KEY:EFFECT- removes one',
  annotate: 'kubectl annotate npool NAME KEY=VALUE',
  scale: SCALE,
  resize: SCALE,
  autoscale: SCALE,
  rm: 'BIN delete NAME',
  del: 'BIN delete NAME',
  'describe-pool': 'BIN describe NAME',
  sync: 'BIN reconcile',
  watch: 'BIN view, BIN get --watch or BIN reconcile --watch',
  logs: 'BIN events; for the controller: kubectl -n nodepool-system logs -l app.kubernetes.io/name=nodepool-controller --prefix',
  history: 'BIN rollout history NAME for the specs of a pool, BIN events for what happened',
  undo: 'BIN rollout undo NAME',
  rollback: 'BIN rollout undo NAME',
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
  pool: 'BIN get',
  np: 'BIN get',
  info: 'BIN describe NAME',
  inspect: 'BIN describe NAME',
  export: 'BIN get -o yaml',
  dump: 'BIN get -o yaml',
  copy: COPY,
  clone: COPY,
  rename: 'BIN create NEW, BIN move NODE... --to NEW, then BIN delete NAME',
  ui: 'BIN view',
  dashboard: 'BIN view',
  k9s: 'BIN view',
  assign: 'BIN add NAME NODE...',
  attach: 'BIN add NAME NODE...',
  join: 'BIN add NAME NODE...',
  detach: 'BIN remove NAME NODE...',
  leave: 'BIN remove NAME NODE...',
  release: 'BIN remove NAME NODE... for nodes, BIN delete NAME for a pool',
  restart: 'BIN reconcile applies a pool again; a pool restarts no pods',
  exec: 'kubectl exec; a pool runs no processes',
  run: 'kubectl run; a pool runs no processes',
  cp: COPY,
  pause: 'BIN rollout pause NAME',
  resume: 'BIN rollout resume NAME',
  stop: 'BIN cordon NAME',
  start: 'BIN uncordon NAME',
  evacuate: 'BIN drain NAME',
  usage: 'BIN top',
  capacity: 'BIN top',
  free: 'BIN top',
  resources: 'BIN top',
  stats: 'BIN top',
  metrics: 'BIN top',
  check: 'BIN doctor',
  health: 'BIN doctor',
  verify: 'BIN doctor, or BIN diff',
  validate: 'BIN create -f FILE --dry-run=server',
  lint: 'BIN create -f FILE --dry-run=server',
  plan: 'BIN diff',
  init: 'BIN install',
  upgrade: 'BIN install',
  auth: 'kubectl auth, or BIN doctor',
  login: 'kubectl auth whoami; BIN uses the user of the kubeconfig, as kubectl does',
  whoami: 'kubectl auth whoami',
  use: CONTEXT,
  switch: CONTEXT,
  ctx: CONTEXT,
  context: CONTEXT,
  contexts: CONTEXT,
  'use-context': CONTEXT,
  ns: NAMESPACE,
  namespace: NAMESPACE,
  namespaces: NAMESPACE,
  plugin: 'kubectl plugin list',
  plugins: 'kubectl plugin list',
  maintenance: MAINTENANCE,
  maintain: MAINTENANCE,
  'api-resources': 'kubectl api-resources --api-group=nodes.lailin.xyz',
};

/** @param bin the program's name: `kubectl nodepool` */
export function unknownCommand(name: string, bin: string, commands: string[]): NodepoolError {
  if (name.startsWith('-')) {
    const flag = name.replace(/=.*/s, '');
    return new NodepoolError(
      'usage',
      `unknown flag ${flag} before the command`,
      globalInstead(flag, bin) ??
        `write flags after the command: \`${bin} get -o wide\`; \`${bin} options\` lists the flags that may come first`,
    );
  }
  const instead = ownValue(INSTEAD, name)?.replaceAll('BIN', bin);
  if (instead !== undefined) return new NodepoolError('usage', `unknown command "${name}"`, instead);
  const meant = suggest(name, [...commands, 'help', 'options']);
  const other = meant === undefined ? suggest(name, Object.keys(INSTEAD)) : undefined;
  if (other !== undefined)
    return new NodepoolError('usage', `unknown command "${name}"`, ownValue(INSTEAD, other)?.replaceAll('BIN', bin));
  return new NodepoolError(
    'usage',
    `unknown command "${name}"${meant === undefined ? '' : `; did you mean "${meant}"?`}`,
  );
}
