/**
 * The permissions that each command of this program needs. test/e2e/needs.test.ts compares it with the server's audit log.
 * Also here: those of the controller's manifest, the reads that a refused user lacks besides, and such questions as text.
 */
import type { AccessQuestion } from '../../../kube/api/access-reviews.ts';
import type { DoctorPort } from '../../../kube/resources/doctor.ts';
import type { ManifestObject } from '../../../kube/resources/manifests.ts';
import { ForbiddenError } from '../../../nodepool/errors.ts';
import { defined, isObject } from '../../../nodepool/json.ts';
import { resourceOf } from '../../../nodepool/text.ts';
import { LEASE, LEASE_NAMESPACE } from '../../../nodepool/types.ts';
import { BORN_IN_POOL, MEMBERSHIP, RECORDS } from '../install/admission-policies.ts';
import { valueOrRefusal } from '../refusals.ts';

/** `verbs resource[.group][/subresource][@namespace][ name]`, much as kubectl writes it. */
type Need = string;

const POOLS = 'nodepools.nodes.lailin.xyz';
const CLASSES = 'runtimeclasses.node.k8s.io';
const EVENTS = 'events.events.k8s.io@default';
const REVISIONS = 'controllerrevisions.apps@default';
const CRD = `customresourcedefinitions.apiextensions.k8s.io ${POOLS}`;
const LEASES = `leases.coordination.k8s.io@${LEASE_NAMESPACE}`;

/** Whether a warning about kubelets is needed. */
const PROTECTION = ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'].flatMap(resource =>
  [RECORDS, MEMBERSHIP].map(name => `get ${resource}.admissionregistration.k8s.io ${name}`),
);

const LOOK = [`list ${POOLS}`, 'list nodes'];
const WRITE = ['get,patch nodes', `get,patch ${POOLS}`, `create ${EVENTS}`];
/** Without the permissions on revisions, `rollout undo` does not find the specs of changed pools. */
const RECONCILE = [
  ...LOOK,
  ...WRITE,
  `patch ${POOLS}/status`,
  `list,get,create,patch,delete ${CLASSES}`,
  `get,list,create,patch,delete ${REVISIONS}`,
];
const DELETE = [...LOOK, ...WRITE, `delete ${POOLS}`, `list,get,delete ${CLASSES}`];
const CORDON = [...LOOK, 'get,patch nodes', `patch ${POOLS}/status`];
/** Only on servers that have the condition: see cordon/maintenance.ts. */
export const PUBLISHES = 'cordon --reason';
/** To show which pods a taint will evict. */
const PODS = ['list pods'];
/** With volumes, namespaceSelector and extended resources, what `fit` needs; of custom resources, those that the server has. */
const IMPACT = [
  ...PODS,
  'list replicationcontrollers',
  ...['daemonsets', 'deployments', 'statefulsets', 'replicasets'].map(resource => `list ${resource}.apps`),
  ...['jobs', 'cronjobs'].map(resource => `list ${resource}.batch`),
  'list persistentvolumes',
  'list storageclasses.storage.k8s.io',
];
/** Of a pool with `noExecute: Drain`; where pods come back to their node, also `list poddisruptionbudgets`. */
const EVICT = [...PODS, 'create pods/eviction'];
/** To find the workloads that name a RuntimeClass which is deleted. */
const CLASS_USERS = [
  ...PODS,
  'list deployments.apps',
  'list statefulsets.apps',
  'list daemonsets.apps',
  'list cronjobs.batch',
];

/**
 * By command, with a flag where that needs more; `with NoExecute` is where a taint with that effect is added to nodes. Where
 * the pool has `noExecute: Drain`, every command that reconciles needs what `reconcile` does.
 * Where kubelets may set the labels that a pool selects by, a refusal only costs a warning.
 * Commands that need no permission are left out. Where the admission plugin OwnerReferencesPermissionEnforcement is on, which
 * no request can find out, creating RuntimeClasses needs `update` on nodepools/finalizers as well.
 */
const NEEDS: Readonly<Record<string, readonly Need[]>> = {
  get: [`get,list ${POOLS}`],
  // Its table; without it that is as of the last reconcile.
  'get with nodes': LOOK,
  'get --watch': [`list,watch ${POOLS}`],
  'get --watch with nodes': [`list,watch ${POOLS}`, 'list,watch nodes'],
  describe: [...LOOK, `list ${CLASSES}`, `list ${EVENTS}`],
  nodes: LOOK,
  'nodes -o wide': ['get nodes'],
  'nodes --watch': [`list,watch ${POOLS}`, 'list,watch nodes'],
  why: [`list ${POOLS}`, 'get nodes'],
  // To find a node by its short name.
  'why with short names': ['list nodes'],
  'nodes --why': [`list ${POOLS}`, 'get nodes'],
  events: [`list ${EVENTS}`, `get,list ${POOLS}`],
  'events --watch': [`list,watch ${EVENTS}`],
  history: [`list ${POOLS}`, 'list nodes', `list ${EVENTS}`, `list ${REVISIONS}`],
  // Of a node, and of members that somebody changed or cordoned.
  'history of nodes': ['get nodes'],
  view: [`list,watch ${POOLS}`, 'list,watch,get,patch nodes', `list,watch ${EVENTS}`, `patch ${POOLS}/status`],
  'view with describe': [`list ${CLASSES}`],
  'view with usage': ['list pods', 'list nodes.metrics.k8s.io'],
  top: [...LOOK, 'list pods', 'list nodes.metrics.k8s.io'],
  'top --pods': ['list pods.metrics.k8s.io'],
  report: [...LOOK, 'list pods', 'list nodes.metrics.k8s.io', `list ${EVENTS}`],
  'report with drift': ['get nodes'],
  fit: [...LOOK, 'list pods', 'get pods', 'list resourcequotas'],
  'fit -f': [...LOOK, 'list pods', 'create pods'],
  'fit with volumes': ['list persistentvolumeclaims', 'list persistentvolumes', 'list storageclasses.storage.k8s.io'],
  'fit with namespaceSelector': ['list namespaces'],
  'fit with extended resources': ['list deviceclasses.resource.k8s.io'],
  'fit -f with pod-template-hash': ['list replicasets.apps'],
  'fit -f with controller-revision-hash': ['get statefulsets.apps'],
  diff: [...LOOK, `list ${CLASSES}`],
  'diff with drift': ['get nodes'],
  'diff --impact': IMPACT,
  'diff --impact with NoExecute': ['list poddisruptionbudgets.policy'],
  'diff with NoExecute': PODS,
  'diff with deleted RuntimeClass': CLASS_USERS,
  create: [`create ${POOLS}`],
  // It warns of nodes of other pools, where it may read them.
  'create with overlaps': LOOK,
  'create --nodes': [`create,list ${POOLS}`, 'get,patch nodes'],
  'create --nodes with short names': ['list nodes'],
  'create --reconcile': [`create ${POOLS}`, ...RECONCILE],
  'create with NoExecute': [...LOOK, ...PODS],
  'create with kubelet labels': PROTECTION,
  adopt: LOOK,
  'adopt --create': [...LOOK, `create ${POOLS}`],
  'adopt with kubelet labels': PROTECTION,
  edit: [`get,patch ${POOLS}`],
  'edit with NoExecute': [...LOOK, ...PODS],
  'edit with deleted RuntimeClass': [`list ${CLASSES}`, ...CLASS_USERS],
  'edit with kubelet labels': [...LOOK, ...PROTECTION],
  add: RECONCILE,
  'add with NoExecute': PODS,
  remove: RECONCILE,
  'remove with NoExecute': PODS,
  move: RECONCILE,
  'move with NoExecute': PODS,
  // To show the impact; what it may not read, a warning names.
  'move --dry-run': IMPACT,
  reconcile: RECONCILE,
  'reconcile with NoExecute': PODS,
  'reconcile with noExecute: Drain': EVICT,
  // Without it, one-shot runs do not detect others that keep changing a key: they cannot count the earlier repairs.
  'reconcile with drift': [`list ${EVENTS}`],
  'reconcile with deleted RuntimeClass': CLASS_USERS,
  'reconcile --pod-counts': PODS,
  'reconcile --watch': [...RECONCILE, `watch ${POOLS}`, 'watch nodes', `watch ${CLASSES}`, `patch ${EVENTS}`],
  'reconcile --watch --pod-counts': ['list,watch pods'],
  'reconcile --watch --leader-elect': [`create ${LEASES}`, `get,patch ${LEASES} ${LEASE}`],
  rollout: [`get,patch ${POOLS}`],
  'rollout resume with NoExecute': [...LOOK, ...PODS],
  'rollout history': [`list ${REVISIONS}`],
  'rollout undo': [`list ${REVISIONS}`],
  'rollout undo with NoExecute': [...LOOK, ...PODS],
  'rollout undo with deleted RuntimeClass': [`list ${CLASSES}`, ...CLASS_USERS],
  'rollout with NotReady nodes': ['list nodes'],
  'rollout status': [`get,list,watch ${POOLS}`],
  'rollout status --revision': [`list ${REVISIONS}`],
  delete: DELETE,
  'delete with NoExecute': PODS,
  'delete with RuntimeClass': CLASS_USERS,
  // Other pools match its nodes, and get them.
  'delete with next owners': [
    `patch ${POOLS}/status`,
    `create,patch ${CLASSES}`,
    `get,list,create,patch,delete ${REVISIONS}`,
  ],
  cordon: CORDON,
  uncordon: CORDON,
  // Without it, a maintenance is not published as a condition of the node.
  [PUBLISHES]: ['patch nodes/status'],
  // Without it, the end of a maintenance has no Event.
  'uncordon after cordon --reason': [`create ${EVENTS}`],
  drain: [
    ...CORDON,
    'list,get pods',
    'create pods/eviction',
    'get daemonsets.apps',
    'list poddisruptionbudgets.policy',
  ],
  // Without it, whether other nodes reach them is not judged.
  'drain with volumes': ['list persistentvolumeclaims', 'list persistentvolumes'],
  'drain --disable-eviction': ['delete pods'],
  // With volumes, namespaceSelector and extended resources, what `fit` needs; with pods of Jobs, `list jobs.batch`.
  'drain --check-fit': ['list pods'],
  wait: [`get,list,watch ${POOLS}`],
  install: [`get,create,patch ${CRD}`, `list ${POOLS}`],
  uninstall: [
    `get,delete ${CRD}`,
    ...LOOK,
    `list ${CLASSES}`,
    'get deployments.apps@nodepool-system nodepool-controller',
    ...['policies', 'policybindings'].flatMap(plural => [
      `get,delete mutatingadmission${plural}.admissionregistration.k8s.io ${BORN_IN_POOL}`,
      ...[RECORDS, MEMBERSHIP].map(
        name => `get,delete validatingadmission${plural}.admissionregistration.k8s.io ${name}`,
      ),
    ]),
  ],
  'uninstall --cascade': DELETE,
  'uninstall --cascade with RuntimeClass': CLASS_USERS,
};

export interface CommandNeeds {
  /** `reconcile`, `reconcile --watch`. */
  command: string;
  questions: AccessQuestion[];
}

/** To see who else gets what a role grants. */
const BINDINGS = ['rolebindings', 'clusterrolebindings', 'clusterroles'].map(
  resource => `list ${resource}.rbac.authorization.k8s.io`,
);

/** What `install` can install beside the CRD. */
export interface InstallableParts {
  /** The admission policies that bind kubelets. */
  policies: readonly ManifestObject[];
  bornInPool: readonly ManifestObject[];
  controller: readonly ManifestObject[];
}

/** @param commands the names of the commands of this program */
export function needsOf(commands: readonly string[], installable?: InstallableParts): CommandNeeds[] {
  const all = Object.entries(NEEDS).map(([command, needs]) => ({ command, questions: needs.flatMap(questionsOf) }));
  return [...all, ...needsOfInstallable(installable)].filter(({ command }) => commands.includes(nameOf(command)));
}

/** `reconcile` of `reconcile --watch`. */
export function nameOf(command: string): string {
  return command.split(' ', 1)[0] ?? '';
}

function needsOfInstallable(installable: InstallableParts | undefined): CommandNeeds[] {
  if (installable === undefined) return [];
  const { policies, bornInPool, controller } = installable;
  const about = (objects: readonly ManifestObject[], verbs: string[]) =>
    objects.flatMap(object => questionsAbout(object, verbs));
  const install = ['get', 'create', 'patch'];
  // The server allows a policy only to a user who may get its parameters.
  const parameters = questionsOf(`get ${POOLS}`);
  return [
    { command: 'install --admission', questions: [...about([...policies, ...bornInPool], install), ...parameters] },
    { command: 'install --policies', questions: [...about(policies, install), ...parameters] },
    {
      command: 'install --controller',
      // The server allows a user to grant only permissions that the user has.
      questions: [
        ...about([...policies, ...controller], install),
        ...controller.flatMap(grantsOf),
        ...BINDINGS.flatMap(questionsOf),
      ],
    },
    {
      command: 'uninstall --controller',
      questions: about([...policies, ...bornInPool, ...controller], ['get', 'delete']),
    },
  ];
}

function questionsOf(need: Need): AccessQuestion[] {
  const [, verbs = '', resource = '', group = '', subresource, namespace, name] =
    /^(\S+) ([a-z]+)(?:\.([a-z0-9.]+))?(?:\/([a-z]+))?(?:@(\S+))?(?: (\S+))?$/.exec(need) ?? [];
  return verbs.split(',').map(verb => defined({ verb, group, resource, subresource, namespace, name }));
}

// The controller's manifest, as questions about permissions: what it takes to apply it, and what it grants.

/** Whether somebody may do that with the object. */
function questionsAbout({ apiVersion, kind, metadata }: ManifestObject, verbs: string[]): AccessQuestion[] {
  const { name, namespace } = metadata;
  const [group = ''] = apiVersion.includes('/') ? apiVersion.split('/', 1) : [];
  const resource = resourceOf(kind);
  return verbs.map(verb => defined({ verb, group, resource, namespace, name }));
}

/** What the subjects of the manifest's bindings are granted: the roles that are there for others are left out. */
export function boundGrantsOf(manifest: readonly ManifestObject[]): AccessQuestion[] {
  const bound = new Set(
    manifest.flatMap(({ metadata: { namespace }, roleRef }) =>
      isObject(roleRef) ? [`${roleRef.kind} ${roleRef.kind === 'Role' ? namespace : undefined} ${roleRef.name}`] : [],
    ),
  );
  return manifest
    .filter(({ kind, metadata }) => bound.has(`${kind} ${metadata.namespace} ${metadata.name}`))
    .flatMap(grantsOf);
}

/** What a Role or ClusterRole grants. */
export function grantsOf({ kind, metadata: { namespace }, rules }: ManifestObject): AccessQuestion[] {
  if ((kind !== 'Role' && kind !== 'ClusterRole') || !Array.isArray(rules)) return [];
  return rules.filter(isObject).flatMap(rule => {
    const names = texts(rule.resourceNames);
    return texts(rule.apiGroups).flatMap(group =>
      texts(rule.resources).flatMap(what => {
        const [resource = '', subresource] = what.split('/');
        return texts(rule.verbs).flatMap(verb =>
          (names.length === 0 ? [undefined] : names).map(name =>
            defined({ verb, group, resource, subresource, namespace, name }),
          ),
        );
      }),
    );
  });
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(item => typeof item === 'string') : [];
}

// The reads that a command needs and the user lacks: one who asks for a role after each refusal asks often.

const READS = ['get', 'list', 'watch'];

/** The refusal, with the other missing reads in its next step, if the server answers. @param command without flags */
export async function withMissingReads(
  refusal: ForbiddenError,
  command: string,
  connection: { doctor(): Promise<Pick<DoctorPort, 'allowed'>> },
): Promise<ForbiddenError> {
  const { message, lines, missing, otherwise } = refusal;
  const needs = needsOf([command]).find(each => each.command === command);
  const reads = (needs?.questions ?? []).filter(({ verb }) => READS.includes(verb));
  const others = reads.filter(question => !missing.includes(roleText(anywhere(question))));
  const answer =
    others.length === 0 ? undefined : await valueOrRefusal(async () => (await connection.doctor()).allowed(others));
  const lacking = answer !== undefined && 'value' in answer ? others.filter((_, at) => !answer.value[at]) : [];
  // A refusal does not tell the namespace.
  const refused = missing.map(role => {
    const needed = reads.find(question => question.namespace !== undefined && roleText(anywhere(question)) === role);
    return needed === undefined ? role : roleText(needed);
  });
  const roles = [...new Set([...refused, ...lacking.map(roleText)])];
  if (roles.join() === missing.join()) return refusal;
  const [first = message, ...items] = lines;
  return new ForbiddenError(first, roles, {
    items,
    otherwise,
    cause: refusal,
  });
}

/** As a refusal has it. */
function anywhere({ name: _name, namespace: _namespace, ...question }: AccessQuestion): AccessQuestion {
  return question;
}

function roleText(question: AccessQuestion): string {
  return `verb ${question.verb} on ${questionText(question).slice(question.verb.length + 1)}`;
}

// A question about a permission, as text.

/** `patch nodepools.nodes.lailin.xyz/status`, `get leases.coordination.k8s.io "x" in kube-system` */
export function questionText(question: AccessQuestion): string {
  return `${question.verb} ${objectText(question)}`;
}

/** The same of several, each object once: `get,patch nodes`. */
export function questionTexts(questions: readonly AccessQuestion[]): string[] {
  const byObject = Map.groupBy(questions, objectText);
  return [...byObject].map(([object, requirements]) => {
    const verbs = new Set(requirements.map(({ verb }) => verb));
    return `${[...verbs].join(',')} ${object}`;
  });
}

/** `nodepools.nodes.lailin.xyz/status` */
export function objectText({ group, resource, subresource, namespace, name }: AccessQuestion): string {
  return [
    `${resource}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`,
    ...(name === undefined ? [] : [`"${name}"`]),
    ...(namespace === undefined ? [] : [`in ${namespace}`]),
  ].join(' ');
}
