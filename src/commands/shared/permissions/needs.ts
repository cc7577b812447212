/**
 * The permissions that each command needs. test/e2e/needs.test.ts compares them with the server's audit log. Also here:
 * permissions in the controller's manifest, other missing reads of a refused user, and permissions as text.
 */
import type { AccessQuestion } from '../../../kube/api/access-reviews.ts';
import type { DoctorPort } from '../../../kube/resources/doctor.ts';
import type { ManifestObject } from '../../../kube/resources/manifests.ts';
import { ForbiddenError } from '../../../nodepool/errors.ts';
import { defined, isObject } from '../../../nodepool/json.ts';
import { resourceOf } from '../../../nodepool/text.ts';
import { CONTROLLER_NAMESPACE, LEASE, LEASE_NAMESPACE } from '../../../nodepool/types.ts';
import { BORN_IN_POOL, MEMBERSHIP, RECORDS } from '../install/admission-policies.ts';
import { valueOrRefusal } from '../refusals.ts';

/** `verbs resource[.group][/subresource][@namespace][ name]`, similar to kubectl's notation. */
type Need = string;

const POOLS = 'nodepools.nodes.lailin.xyz';
const CLASSES = 'runtimeclasses.node.k8s.io';
const EVENTS = 'events.events.k8s.io@default';
const REVISIONS = 'controllerrevisions.apps@default';
const CRD = `customresourcedefinitions.apiextensions.k8s.io ${POOLS}`;
const LEASES = `leases.coordination.k8s.io@${LEASE_NAMESPACE}`;

/** To decide whether a warning about kubelets is needed. */
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
/** Only on servers with the condition: see cordon/maintenance.ts. */
export const PUBLISHES = 'cordon --reason';
/** To show which pods a taint will evict. */
const PODS = ['list pods'];
/** For volumes, namespaceSelector and extended resources, what `fit` needs; of custom resources, those that exist. */
const IMPACT = [
  ...PODS,
  'list replicationcontrollers',
  ...['daemonsets', 'deployments', 'statefulsets', 'replicasets'].map(resource => `list ${resource}.apps`),
  ...['jobs', 'cronjobs'].map(resource => `list ${resource}.batch`),
  'list persistentvolumes',
  'list storageclasses.storage.k8s.io',
];
/** For a pool with `noExecute: Drain`; if pods return to their node, also `list poddisruptionbudgets`. */
const EVICT = [...PODS, 'create pods/eviction'];
/** To find the workloads that use a deleted RuntimeClass. */
const CLASS_USERS = [
  ...PODS,
  'list deployments.apps',
  'list statefulsets.apps',
  'list daemonsets.apps',
  'list cronjobs.batch',
];

/**
 * By command, with a flag if it needs more; `with NoExecute`: if such a taint is added to nodes. If the pool has
 * `noExecute: Drain`, every command that reconciles needs what `reconcile` needs.
 * If kubelets may set the labels that a pool selects by, a refusal only causes a warning.
 * Commands that need no permission are left out. With the admission plugin OwnerReferencesPermissionEnforcement, which
 * no request can detect, creating RuntimeClasses also needs `update` on nodepools/finalizers.
 */
const NEEDS: Readonly<Record<string, readonly Need[]>> = {
  get: [`get,list ${POOLS}`],
  // For the table; without it, values are from the last reconcile.
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
  // For a node, and for members that somebody changed or cordoned.
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
  'diff --impact with NoExecute': ['list poddisruptionbudgets.policy', 'list resourcequotas', 'list limitranges'],
  'diff with NoExecute': PODS,
  'diff with deleted RuntimeClass': CLASS_USERS,
  create: [`create ${POOLS}`],
  // Warns about nodes of other pools, if they may be read.
  'create with overlaps': LOOK,
  'create --nodes': [`create,list ${POOLS}`, 'get,patch nodes'],
  'create --nodes with short names': ['list nodes'],
  'create --reconcile': [`create ${POOLS}`, ...RECONCILE],
  'create with NoExecute': [...LOOK, ...PODS],
  'create with kubelet labels': PROTECTION,
  adopt: LOOK,
  'adopt --create': [...LOOK, `create ${POOLS}`],
  'adopt with kubelet labels': PROTECTION,
  // The revision is of a spec that no reconcile has saved; without it, `rollout undo` does not find that spec.
  edit: [`get,patch ${POOLS}`, `create ${REVISIONS}`],
  'edit with NoExecute': [...LOOK, ...PODS],
  'edit with deleted RuntimeClass': [`list ${CLASSES}`, ...CLASS_USERS],
  'edit with kubelet labels': [...LOOK, ...PROTECTION],
  add: RECONCILE,
  'add with NoExecute': PODS,
  remove: RECONCILE,
  'remove with NoExecute': PODS,
  move: RECONCILE,
  'move with NoExecute': PODS,
  // To show the impact; a warning names what may not be read.
  'move --dry-run': IMPACT,
  reconcile: RECONCILE,
  'reconcile with NoExecute': PODS,
  'reconcile with noExecute: Drain': EVICT,
  // Without it, one-shot runs cannot count earlier repairs, and so do not detect others that keep changing a key.
  'reconcile with drift': [`list ${EVENTS}`],
  'reconcile with deleted RuntimeClass': CLASS_USERS,
  'reconcile --pod-counts': PODS,
  'reconcile --watch': [...RECONCILE, `watch ${POOLS}`, 'watch nodes', `watch ${CLASSES}`, `patch ${EVENTS}`],
  'reconcile --watch --pod-counts': ['list,watch pods'],
  'reconcile --watch --leader-elect': [`create ${LEASES}`, `get,patch ${LEASES} ${LEASE}`],
  rollout: [`get,patch ${POOLS}`],
  'rollout resume with NoExecute': [...LOOK, ...PODS],
  'rollout history': [`list ${REVISIONS}`],
  'rollout undo': [`list,create ${REVISIONS}`],
  'rollout undo with NoExecute': [...LOOK, ...PODS],
  'rollout undo with deleted RuntimeClass': [`list ${CLASSES}`, ...CLASS_USERS],
  'rollout with NotReady nodes': ['list nodes'],
  'rollout status': [`get,list,watch ${POOLS}`],
  'rollout status --revision': [`list ${REVISIONS}`],
  // With --watch=false; without it, the status is from the last reconcile.
  'rollout status with nodes': LOOK,
  delete: DELETE,
  'delete with NoExecute': PODS,
  'delete with RuntimeClass': CLASS_USERS,
  // If other pools match its nodes, and get them.
  'delete with next owners': [
    `patch ${POOLS}/status`,
    `create,patch ${CLASSES}`,
    `get,list,create,patch,delete ${REVISIONS}`,
  ],
  cordon: CORDON,
  uncordon: CORDON,
  // Without it, a maintenance is not published as a node condition.
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
  // Without it, the drain does not check whether other nodes can reach the volumes.
  'drain with volumes': ['list persistentvolumeclaims', 'list persistentvolumes'],
  'drain --disable-eviction': ['delete pods'],
  // For volumes, namespaceSelector and extended resources, what `fit` needs; for pods of Jobs, `list jobs.batch`;
  // of StatefulSets, `list statefulsets.apps`; without requests, `list limitranges`.
  'drain --check-fit': ['list pods', 'list resourcequotas', 'list limitranges'],
  // Without the leases, a warning says that it is unknown whether a controller runs.
  wait: [
    `get,list,watch ${POOLS}`,
    ...[CONTROLLER_NAMESPACE, LEASE_NAMESPACE].map(namespace => `get leases.coordination.k8s.io@${namespace} ${LEASE}`),
  ],
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
  /** Such as `reconcile` or `reconcile --watch`. */
  command: string;
  questions: AccessQuestion[];
}

/** To see who else gets the permissions of a role. */
const BINDINGS = ['rolebindings', 'clusterrolebindings', 'clusterroles'].map(
  resource => `list ${resource}.rbac.authorization.k8s.io`,
);

/** What `install` can install in addition to the CRD. */
export interface InstallableParts {
  /** The admission policies that restrict kubelets. */
  policies: readonly ManifestObject[];
  bornInPool: readonly ManifestObject[];
  controller: readonly ManifestObject[];
}

/** @param commands the names of this program's commands */
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
  // The server accepts a policy only from a user who may get its parameters.
  const parameters = questionsOf(`get ${POOLS}`);
  return [
    { command: 'install --admission', questions: [...about([...policies, ...bornInPool], install), ...parameters] },
    { command: 'install --policies', questions: [...about(policies, install), ...parameters] },
    {
      command: 'install --controller',
      // The server lets users grant only permissions that they have.
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

// The controller's manifest as permissions: those needed to apply it, and those that it grants.

/** The permissions to use these verbs on the object. */
function questionsAbout({ apiVersion, kind, metadata }: ManifestObject, verbs: string[]): AccessQuestion[] {
  const { name, namespace } = metadata;
  const [group = ''] = apiVersion.includes('/') ? apiVersion.split('/', 1) : [];
  const resource = resourceOf(kind);
  return verbs.map(verb => defined({ verb, group, resource, namespace, name }));
}

/** What the manifest's bindings grant their subjects; leaves out roles for other users. */
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

// Reads that a command needs and the user lacks, so that one request for a role covers all of them.

const READS = ['get', 'list', 'watch'];

/** Adds the other missing reads to the refusal's next step, if the server answers. @param command without flags */
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
  // A refusal does not contain the namespace.
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

/** In the form that a refusal has. */
function anywhere({ name: _name, namespace: _namespace, ...question }: AccessQuestion): AccessQuestion {
  return question;
}

function roleText(question: AccessQuestion): string {
  return `verb ${question.verb} on ${questionText(question).slice(question.verb.length + 1)}`;
}

// A permission as text.

/** `patch nodepools.nodes.lailin.xyz/status`, `get leases.coordination.k8s.io "x" in kube-system` */
export function questionText(question: AccessQuestion): string {
  return `${question.verb} ${objectText(question)}`;
}

/** The same for several permissions, each object once: `get,patch nodes`. */
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
