/** What each verb of this program asks a server for: the permissions that its user needs. */
import type { AccessQuestion } from '../doctor-port.ts';

/** `verbs resource[/subresource][@namespace]`, as RBAC and kubectl write them. */
type Need = string;

const POOLS = 'nodepools.nodes.lailin.xyz';
const CLASSES = 'runtimeclasses.node.k8s.io';
const EVENTS = 'events.events.k8s.io@default';
const DEFINITIONS = 'customresourcedefinitions.apiextensions.k8s.io';

const LOOK = [`list ${POOLS}`, 'list nodes'];
const RECONCILE = [
  ...LOOK,
  `get,patch ${POOLS}`,
  `patch ${POOLS}/status`,
  'get,patch nodes',
  `list,get,create,patch,delete ${CLASSES}`,
  `create ${EVENTS}`,
];
const MEMBERS = [...LOOK, 'get,patch nodes'];

/** By verb, and flag where that asks for more. Verbs that ask for nothing of the kind are not in it. */
const NEEDS: Readonly<Record<string, readonly Need[]>> = {
  get: [`get,list ${POOLS}`],
  'get --watch': [`list,watch ${POOLS}`],
  describe: [...LOOK, `list ${CLASSES}`, `list ${EVENTS}`],
  events: [`list ${EVENTS}`],
  diff: [...LOOK, `list ${CLASSES}`],
  nodes: [...LOOK, 'get nodes'],
  top: [...LOOK, 'list pods', 'list nodes.metrics.k8s.io'],
  wait: [`get,list,watch ${POOLS}`],
  view: [`list,watch ${POOLS}`, 'list,watch,patch nodes', `list,watch ${EVENTS}`],
  create: [`create ${POOLS}`],
  'create --nodes': [`create,list ${POOLS}`, 'get,patch nodes'],
  adopt: [...LOOK, `create ${POOLS}`],
  edit: [`get,patch ${POOLS}`],
  reconcile: RECONCILE,
  'reconcile --watch': [...RECONCILE, `watch ${POOLS}`, 'watch nodes', `watch ${CLASSES}`, `patch ${EVENTS}`],
  delete: [...RECONCILE, `delete ${POOLS}`],
  add: [...RECONCILE, 'list pods'],
  remove: [...RECONCILE, 'list pods'],
  move: [...RECONCILE, 'list pods'],
  cordon: MEMBERS,
  uncordon: MEMBERS,
  drain: [
    ...MEMBERS,
    'list,get pods',
    'create pods/eviction',
    'get daemonsets.apps',
    'list poddisruptionbudgets.policy',
  ],
  'drain --disable-eviction': ['delete pods'],
  install: [`get,create,patch ${DEFINITIONS}`, `list ${POOLS}`],
  uninstall: [`get,delete ${DEFINITIONS}`, ...LOOK, `list ${CLASSES}`, 'get deployments.apps@nodepool-system'],
};

export interface VerbNeeds {
  /** `reconcile`, `reconcile --watch`. */
  verb: string;
  questions: AccessQuestion[];
}

/** @param verbs that this program has */
export function needsOf(verbs: readonly string[]): VerbNeeds[] {
  return Object.entries(NEEDS)
    .filter(([verb]) => verbs.includes(verb.split(' ', 1)[0] ?? ''))
    .map(([verb, needs]) => ({ verb, questions: needs.flatMap(questionsOf) }));
}

function questionsOf(need: Need): AccessQuestion[] {
  const [, verbs = '', resource = '', group = '', subresource, namespace] =
    /^(\S+) ([a-z]+)(?:\.([a-z0-9.]+))?(?:\/([a-z]+))?(?:@(\S+))?$/.exec(need) ?? [];
  return verbs.split(',').map(verb => ({
    verb,
    group,
    resource,
    ...(subresource === undefined ? {} : { subresource }),
    ...(namespace === undefined ? {} : { namespace }),
  }));
}

/** `patch nodepools.nodes.lailin.xyz/status`, `get leases.coordination.k8s.io "x" in kube-system` */
export function questionText({ verb, group, resource, subresource, namespace, name }: AccessQuestion): string {
  return [
    `${verb} ${resource}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`,
    ...(name === undefined ? [] : [`"${name}"`]),
    ...(namespace === undefined ? [] : [`in ${namespace}`]),
  ].join(' ');
}
