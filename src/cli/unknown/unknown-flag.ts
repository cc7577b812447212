/** What to type instead of a flag, an argument or a format that other tools have and the command does not. */
import { ownValue } from '../../nodepool/json.ts';

const STEPS = '--max-concurrent limits the nodes per step; --canary limits the nodes of the first step';
const UNINSTALL =
  'BIN uninstall --controller for the controller and the admission policies, then BIN uninstall --cascade for all pools and the CRD';
const SIZES = 'leave it out: a pool creates no machines; its nodes are those that its selector matches';

/** Each text follows "next: ". Keys are command and flag, or the flag alone. BIN stands for the program. */
export const INSTEAD: Record<string, string> = {
  '-f': 'name a pool, or use -l SELECTOR',
  '-k': 'kubectl apply -k DIR, then BIN reconcile',
  '-R': 'leave it out: it only works with -f DIR',
  '--chunk-size': 'leave it out: long lists are read in chunks automatically',
  '--replicas': 'BIN add NAME NODE... for existing nodes; a pool creates no machines',
  '--server-side': 'leave it out: only kubectl apply has it',
  'add --node': 'BIN add NAME NODE...',
  'add --pool': 'BIN add NAME NODE...',
  'add --reconcile': 'leave it out: add updates the nodes immediately',
  'add --to': 'BIN add NAME NODE...',
  'add -o': 'leave it out; BIN nodes NAME -o yaml prints the nodes of the pool',
  'create -k': 'kubectl kustomize DIR | BIN create -f -',
  'create -l':
    'BIN create NAME --label KEY=VALUE for the labels of the nodes, --node-selector KEY=VALUE to select nodes',
  'create --name': 'BIN create NAME',
  'create --field-manager': 'leave it out: it is kubectl-nodepool',
  'create --min': SIZES,
  'create --max': SIZES,
  'create --min-size': SIZES,
  'create --max-size': SIZES,
  'create --max-unavailable': STEPS,
  'create --rollout': STEPS,
  'edit --max-unavailable': STEPS,
  'edit --rollout': STEPS,
  'create --edit': 'BIN create NAME, then BIN edit NAME',
  'create --runtime-class': 'BIN create NAME --handler HANDLER; reconcile creates the RuntimeClass',
  'create --save-config': 'leave it out; kubectl apply -f FILE creates pools that you can apply again',
  'create --validate': 'leave it out: fields are always checked',
  'delete -k': 'kubectl kustomize DIR | BIN delete -f -',
  'delete --cascade': 'leave it out: nodes stay and lose only what the pool set',
  'delete --force': 'leave it out: delete needs no controller; --yes skips the prompt',
  'delete --grace-period': 'leave it out: no pod is deleted',
  'delete --now': 'leave it out: no pod is deleted',
  'delete --timeout': 'leave it out: delete releases the nodes and exits when the pool is deleted',
  'delete --wait': 'leave it out: delete releases the nodes and exits when the pool is deleted',
  'describe --show-events': 'leave it out; BIN get NAME -o yaml has no events',
  'describe -o': 'BIN get NAME -o yaml',
  'diff --exit-code': 'leave it out: the exit code is 1 if there is a difference',
  'diff --summary': 'leave it out: equal changes share one block, and the last line counts all nodes',
  'diff --server-side': 'leave it out: diff -f covers both kubectl apply and apply --server-side',
  'diff --prune': 'leave it out: diff -f ignores pools that are in no file',
  'drain --ignore-errors': 'leave it out: drain continues with the other nodes if one fails',
  'drain --delete-local-data': 'BIN drain NAME --delete-emptydir-data',
  'edit -l': 'BIN get -l SELECTOR -o name, then BIN edit NAME for each',
  'edit --all': 'BIN get -o name, then BIN edit NAME for each',
  'edit -f': 'kubectl apply -f FILE, then BIN reconcile',
  'edit --add-label': 'BIN edit NAME --label KEY=VALUE',
  'edit --overwrite': 'leave it out: BIN edit NAME --label KEY=VALUE replaces a value',
  'edit --remove-label': 'BIN edit NAME --label KEY-',
  'edit --node': 'BIN add NAME NODE..., or BIN edit NAME --node-selector KEY=VALUE',
  'edit --save-config': 'leave it out; kubectl apply -f FILE creates pools that you can apply again',
  'edit --set': 'BIN edit NAME --label KEY=VALUE --taint KEY=VALUE:EFFECT',
  'events --field-selector': 'kubectl get events --field-selector involvedObject.kind=NodePool,type=Warning',
  'events --watch-only': 'BIN events --watch',
  'events --types': 'kubectl get events --field-selector involvedObject.kind=NodePool,type=Warning',
  'get --raw': 'kubectl get --raw PATH',
  'get --server-print': 'leave it out',
  'get --all': 'leave it out: without names, all pools are listed',
  'get --show-managed-fields': 'kubectl get npool NAME -o yaml --show-managed-fields',
  'get --subresource': 'kubectl get npool NAME --subresource=status -o yaml',
  'nodes --pool': 'BIN nodes POOL',
  'nodes --show-labels': 'BIN nodes POOL -L KEY for some labels, kubectl get nodes --show-labels for all',
  'reconcile --force': 'BIN reconcile NAME --yes',
  'reconcile -f': 'kubectl apply -f FILE, then BIN reconcile',
  'remove --all': 'BIN delete NAME to release all nodes, BIN remove NAME -l SELECTOR to release some',
  'remove -o': 'leave it out; BIN nodes NAME -o yaml prints the nodes of the pool',
  'remove --from': 'BIN remove NAME NODE...',
  'remove --node': 'BIN remove NAME NODE...',
  'remove --pool': 'BIN remove NAME NODE...',
  'move -o': 'leave it out; BIN nodes NAME -o yaml prints the nodes of the pool',
  'move --node': 'BIN move NODE... --to POOL',
  'move --pool': 'BIN move NODE... --to POOL',
  'rollout --all': 'BIN rollout ACTION NAME..., or -l SELECTOR',
  'rollout -f': 'BIN rollout ACTION NAME..., or -l SELECTOR',
  'top --sum': 'leave it out: each line sums up a pool',
  'top --containers': 'BIN top --pods',
  'uninstall --all': UNINSTALL,
  'uninstall --force': UNINSTALL,
  'uninstall --policies':
    'BIN uninstall --controller, which deletes the admission policies and, if installed, the controller',
  'uninstall --purge': UNINSTALL,
  'version --short': 'BIN version',
};

/** For kubectl's global flags that this program does not have, which may precede the command. Texts as in INSTEAD. */
const GLOBAL_INSTEAD: Record<string, string> = {
  '--cache-dir': 'XDG_CACHE_HOME=DIR in the environment; the cache is DIR/kubectl-nodepool',
  '--kuberc': 'KUBERC=FILE in the environment',
  '--log-flush-frequency': 'leave it out: each line of -v is written immediately',
  '--match-server-version': 'leave it out; BIN version shows both versions, and BIN doctor checks the server',
  '--password': 'set the user in the kubeconfig, or give --token',
  '--profile': 'leave it out; -v 6 shows how long each request takes',
  '--profile-output': 'leave it out; -v 6 shows how long each request takes',
  '--username': 'set the user in the kubeconfig, or give --token',
  '--vmodule': 'leave it out; -v 6 logs requests, and -v 8 their bodies',
  '--warnings-as-errors': 'leave it out: warnings from the server are not shown; kubectl prints them',
};

const SAME: Record<string, string> = {
  '--filename': '-f',
  '--kustomize': '-k',
  '--recursive': '-R',
  '--selector': '-l',
  '--output': '-o',
  '--nodes': '--node',
};

interface RefusedValue {
  /** As `--output`; undefined for an argument. */
  flag: string | undefined;
  value: string;
  options: string[];
}

/** Reads oclif's error for a value that is not one of the options. Returns undefined for other messages. */
export function refusedValue(message: string): RefusedValue | undefined {
  const [, flag, value = '', options] = /^Expected (?:(--[^=\s]+)=)?(.*) to be one of: ([^\n]*)/s.exec(message) ?? [];
  return options === undefined ? undefined : { flag, value, options: options.split(', ') };
}

/** @param error an error of oclif. Returns undefined for other errors, and if there is no suggestion. */
export function insteadOf(error: unknown, command: string, bin: string): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { flags, args, message = '' } = error as { flags?: unknown; args?: unknown; message?: string };
  const refused = refusedValue(message);
  if (refused?.flag === '--output') return formatNext(refused.value, refused.options);
  if (refused !== undefined) return `use one of ${refused.options.join(', ')}`;
  const text = Array.isArray(flags) ? forFlag(String(flags[0]), command) : forArgument(args, command);
  return text?.replaceAll('BIN', bin);
}

function forFlag(word: string, command: string): string | undefined {
  const name = word.startsWith('--') ? word.replace(/=.*/s, '') : word.slice(0, 2);
  const flag = ownValue(SAME, name) ?? name;
  return ownValue(INSTEAD, `${command} ${flag}`) ?? ownValue(INSTEAD, flag) ?? ownValue(GLOBAL_INSTEAD, flag);
}

/** What to type instead of a flag before the command. */
export function globalInstead(flag: string, bin: string): string | undefined {
  return ownValue(GLOBAL_INSTEAD, flag)?.replaceAll('BIN', bin);
}

/** For `edit web a=b`, the syntax of kubectl label and kubectl taint. */
function forArgument(args: unknown, command: string): string | undefined {
  if (!Array.isArray(args)) return undefined;
  if (command === 'view') return 'BIN view shows all pools, BIN describe NAME shows one';
  if (command !== 'edit' && command !== 'create') return undefined;
  const word = args.find(arg => typeof arg === 'string' && /^[^=]+=|-$/.test(arg));
  if (word === undefined) return undefined;
  return `BIN ${command} NAME --${/:[A-Z]\w+-?$/.test(word) ? 'taint' : 'label'} ${word}`;
}

/** What to type if there is a type before the names, as kubectl allows: `drain node web-1`. */
export function typedInstead([command = '', ...rest]: readonly string[]): string | undefined {
  // `rollout status web`
  const words = command === 'rollout' ? rest.slice(1) : rest;
  const flag = words.findIndex(word => word.startsWith('-'));
  return withoutType(command, flag < 0 ? words : words.slice(0, flag));
}

// What to write instead of an output format that a command does not have; one wording for all commands.

const TEMPLATES = ['go-template', 'go-template-file', 'template', 'templatefile'];

export function unknownFormat(format: string): string {
  return `unknown output format "${format.split('=', 1)[0]}"`;
}

/** The text after "next: ". @param formats those that the command has */
export function formatNext(format: string, formats: readonly string[]): string {
  const use = formats.length === 1 ? `use ${formats[0]}` : `use one of ${formats.join(', ')}`;
  const hint = hintFor(format, formats);
  return hint === undefined ? use : `${use}; ${hint}`;
}

function hintFor(format: string, formats: readonly string[]): string | undefined {
  const [kind = ''] = format.split('=', 1);
  if (TEMPLATES.includes(kind) && formats.includes('jsonpath=')) return 'jsonpath= takes templates, as in kubectl';
  if ([...TEMPLATES, 'kyaml'].includes(kind) || /^(jsonpath|custom-columns)/.test(kind)) {
    return formats.includes('json') ? 'for single fields, pipe -o json to jq' : undefined;
  }
  if (kind === 'wide') return 'leave out -o for the table';
  return kind === 'name' ? '`kubectl nodepool get -o name` prints the names of pools' : undefined;
}

// The command to use instead, of this program or kubectl, when a node, a pod or a type replaces a pool's name.

/** Commands that take a type before the name in kubectl. */
const TYPED = ['get', 'describe', 'edit', 'delete', 'top', 'wait'];
/** Commands that take a node's name in kubectl. */
const OF_NODES = ['cordon', 'uncordon', 'drain'];

const TYPE_AND_NAME = /^(nodes?|no|pods?|po)\/(.+)$/;

/** For users who type the resource's type before the names, as kubectl allows: `get nodes`, `describe pod/web`. */
export function withoutType(command: string, words: readonly string[]): string | undefined {
  const [type = '', ...names] = splitTypes(words);
  if (/^(nodepools?(\.nodes\.lailin\.xyz)?|npools?|pools?)$/.test(type))
    return `leave out "${type}": write the pool names right after the command`;
  const isNode = /^(nodes?|no)$/.test(type);
  if (!isNode && !/^(pods?|po)$/.test(type)) return undefined;
  const ours = isNode ? oursForNodes(command, names, 'POOL') : oursForPods(command, names);
  return `for ${isNode ? 'nodes' : 'pods'}: ${either(ours, theirsFor(command, type, names))}`;
}

/** @param pool the pool that has all the nodes; undefined if there is none */
export function forNodes(command: string, nodes: readonly string[], pool: string | undefined): string {
  const what = nodes.map(name => `"${name}"`).join(', ');
  const are = nodes.length === 1 ? 'is a node' : 'are nodes';
  const ours = oursForNodes(command, nodes, pool);
  return `${what} ${are} of ${pool === undefined ? 'no pool' : `pool ${pool}`}: ${either(ours, theirsFor(command, 'node', nodes))}`;
}

/** Splits `node/a`, as users type it and `kubectl get nodes -o name` prints it. */
function splitTypes(words: readonly string[]): string[] {
  const [, type] = TYPE_AND_NAME.exec(words[0] ?? '') ?? [];
  return type === undefined ? [...words] : [type, ...words.map(word => word.replace(TYPE_AND_NAME, '$2'))];
}

function theirsFor(command: string, type: string, names: readonly string[]): string | undefined {
  if (command === 'wait' && names.length > 0) return `kubectl wait ${names.map(name => `${type}/${name}`).join(' ')}`;
  if (TYPED.includes(command)) return ['kubectl', command, type, ...names].join(' ');
  const takesNames = OF_NODES.includes(command) && /^no/.test(type) && names.length > 0;
  return takesNames ? ['kubectl', command, ...names].join(' ') : undefined;
}

function oursForNodes(command: string, nodes: readonly string[], pool: string | undefined): string | undefined {
  const [first = 'NODE'] = nodes;
  const isNone = pool === undefined;
  if (OF_NODES.includes(command)) return isNone ? undefined : `${command} ${pool} --node ${nodes.join(',') || first}`;
  switch (command) {
    case 'top':
      if (nodes.length === 0) return 'top --nodes';
      return isNone ? undefined : `top ${pool} --nodes`;
    case 'delete':
      return isNone ? undefined : `remove ${pool} ${nodes.join(' ') || 'NODE...'}`;
    case 'edit':
    case 'wait':
      return undefined;
    default:
      return nodes.length === 0 ? 'nodes' : `why ${first}`;
  }
}

function oursForPods(command: string, pods: readonly string[]): string | undefined {
  return TYPED.includes(command) && (command !== 'top' || pods.length > 0) ? undefined : 'top --pods';
}

function either(ours: string | undefined, theirs: string | undefined): string {
  const commands = [
    ...(ours === undefined ? [] : [`kubectl nodepool ${ours}`]),
    ...(theirs === undefined ? [] : [theirs]),
  ];
  return commands.map(each => `\`${each}\``).join(' or ');
}
