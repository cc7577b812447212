import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { confirmOrRefuse } from '../../cli/confirm.ts';
import { parseDuration } from '../../cli/duration.ts';
import { showWarning } from '../../cli/errors.ts';
import { type Deps, transientKeysFrom } from '../../cli/factory.ts';
import { CRD_NAME, dryRunFlag, dryRunSuffix, outputFlag, yesFlag } from '../../cli/flags.ts';
import type { Io } from '../../cli/io.ts';
import { type Manifests, readBornInPool, readControllerWith, readCrd, readPolicies } from '../../cli/manifests.ts';
import type { DryRun } from '../../kube/cluster.ts';
import type { ManifestObject } from '../../kube/resources/manifests.ts';
import { DeclinedError, NodepoolError } from '../../nodepool/errors.ts';
import { whereText } from '../../print/question.ts';
import { checkNames, type HelmRelease, helmUpgrade, nameOf } from '../shared/install/foreign-objects.ts';
import { type InstallOutcome, install, waitUntilAvailable } from './run.ts';

export default class Install extends BaseCommand<typeof Install> {
  static override summary = 'Install or update the NodePool CRD in the cluster.';
  static override description =
    'Applies the CRD of NodePool and waits until the API server serves it. With --controller, also installs a controller that reconciles pools and nodes when they change: a Deployment in the namespace nodepool-system, RBAC rules, and admission policies. The policies prevent kubelets from changing the membership and the record of their nodes. The command can be repeated.';
  static override examples = [
    { description: 'Install or update the CRD', command: '<%= config.bin %> install' },
    {
      description: 'Print the manifest; needs no cluster',
      command: '<%= config.bin %> install --dry-run -o yaml',
    },
    {
      description: 'Also install the controller, and wait until it is available',
      command: '<%= config.bin %> install --controller --wait',
    },
    {
      description: 'Keep kubelets from moving their own nodes between pools',
      command: '<%= config.bin %> install --policies',
    },
    {
      description: 'Install the controller from a registry of your own',
      command: '<%= config.bin %> install --controller --image registry.example.com/kubectl-nodepool:0.1.0',
    },
  ];
  static override flags = {
    controller: Flags.boolean({ summary: 'Also install the controller.' }),
    admission: Flags.boolean({
      summary: 'Also set the labels and taints of a pool on new nodes when they register (Kubernetes 1.36).',
    }),
    image: Flags.string({
      summary: 'Image of the controller. Default: the published image of this version.',
      helpValue: 'IMAGE',
    }),
    'pod-counts': Flags.boolean({ summary: 'Let the controller count pods; grants read access to pods.' }),
    evictions: Flags.boolean({
      summary: 'Let the controller evict pods for pools with noExecute: Drain; grants that permission.',
    }),
    policies: Flags.boolean({
      summary: 'Also install the admission policies for kubelets.',
      exclusive: ['no-policies'],
    }),
    'no-policies': Flags.boolean({ summary: 'Do not install the admission policies.' }),
    'dry-run': dryRunFlag(
      'Change nothing: "client" compares with the cluster, or with -o only prints; with "server", the server validates every write.',
    ),
    output: outputFlag('Print the manifests instead of messages.'),
    wait: Flags.boolean({ summary: 'Also wait until the controller is available.' }),
    timeout: Flags.string({
      default: '60s',
      summary: 'Maximum time to wait.',
      helpValue: 'TIME',
    }),
    yes: yesFlag('Scripts need --yes for --controller if others could get its permissions.'),
  };

  protected async execute(
    flags: FlagsOf<typeof Install>,
    _args: ArgsOf<typeof Install>,
    { io, root, connect, progress }: Deps,
  ): Promise<number> {
    const timeoutMs = parseDuration(flags.timeout, '--timeout');
    let untilAvailable: (() => Promise<void>) | undefined;
    const manifest = await readCrd(root);
    const controller = await readWanted(root, flags);
    const apply = async () => {
      const connection = await connect({ dryRun: flags['dry-run'] !== 'none' });
      const spinner = await progress(flags.controller ? 'Installing' : 'Installing the NodePool CRD');
      const { objects: bornInPool } = flags.admission ? await readBornInPool(root) : { objects: [] };
      const options = { crd: manifest.object, controller: controller?.objects ?? [], bornInPool, timeoutMs };
      const agree = async (risks: readonly string[]) => {
        spinner.stop();
        if (flags.yes || flags['dry-run'] !== 'none') for (const risk of risks) showWarning(io, risk);
        else await ask(risks, whereText(connection), io);
      };
      const { crd, manifests } = connection;
      const deployment = controller?.objects.find(({ kind }) => kind === 'Deployment');
      if (flags.wait && flags['dry-run'] === 'none' && deployment !== undefined)
        untilAvailable = async () => {
          const waiting = await progress('Waiting for the controller');
          await waitUntilAvailable(deployment, timeoutMs, manifests).finally(() => waiting.stop());
        };
      return install({ ...options, dryRun: flags['dry-run'] }, { crd, manifests, agree }).finally(() => spinner.stop());
    };
    // A client dry run with -o needs no cluster.
    const outcome = flags['dry-run'] === 'client' && flags.output !== undefined ? undefined : await apply();
    if (flags.output === 'yaml')
      io.out(
        [manifest, ...(controller === undefined ? [] : [controller])].map(({ text }) => text.trimEnd()).join('\n---\n'),
      );
    else if (flags.output === 'json') io.out(JSON.stringify(asOne(manifest.object, controller), null, 4));
    else if (outcome !== undefined) for (const line of lines(outcome, flags['dry-run'])) io.out(line);
    for (const { object, overruled } of outcome?.controller ?? []) {
      if (overruled !== undefined) showWarning(io, ofOthers(object, overruled));
    }
    if (outcome?.unread !== undefined) {
      const { oneLine, next } = outcome.unread;
      showWarning(io, { message: `not checked: who else gets the controller's permissions: ${oneLine}`, next });
    }
    if (outcome?.crdRelease !== undefined) showWarning(io, ofHelm(outcome.crdRelease));
    const { message, remedy, status } = checkNames(outcome?.otherGroups ?? []);
    if (status === 'warning') showWarning(io, { message, next: remedy });
    await untilAvailable?.();
    return 0;
  }
}

/** Throws unless the user agrees. */
async function ask(losses: readonly string[], where: string | undefined, io: Io): Promise<void> {
  const next = 'to continue, run the command again with --yes';
  const refusal = () => new NodepoolError('input', `${losses.join('; ')}; nothing was changed`, next);
  const question = { action: 'Install the controller', where, losses };
  if (!(await confirmOrRefuse(io, question, refusal))) throw new DeclinedError();
}

async function readWanted(root: string, flags: FlagsOf<typeof Install>): Promise<Manifests | undefined> {
  const {
    admission,
    controller,
    policies,
    image,
    'pod-counts': podCounts,
    evictions,
    wait,
    'no-policies': noPolicies,
  } = flags;
  if (!controller) {
    const ofController = {
      '--image': image !== undefined,
      '--pod-counts': podCounts,
      '--evictions': evictions,
      '--wait': wait,
    };
    const alone = Object.entries(ofController).find(([, isSet]) => isSet)?.[0];
    const policiesAlone = noPolicies && !admission ? '--no-policies' : undefined;
    const wrong = alone ?? policiesAlone;
    if (wrong !== undefined)
      throw new NodepoolError('usage', `${wrong} is only valid with --controller`, 'add --controller');
    if (!admission && !policies) return undefined;
  }
  const transientKeys = await transientKeysFrom(flags['transient-keys']);
  const parts = [
    ...(noPolicies ? [] : [await readPolicies(root)]),
    ...(admission ? [await readBornInPool(root)] : []),
    ...(controller ? [await readControllerWith(root, image, { podCounts, evictions, transientKeys })] : []),
  ];
  return {
    text: parts.map(({ text }) => text.trimEnd()).join('\n---\n'),
    objects: parts.flatMap(({ objects }) => objects),
  };
}

/** Helm uses server-side apply, where two managers of one field conflict. */
function ofHelm(release: HelmRelease) {
  return {
    message: `the CRD belongs to the Helm release ${release.name} in namespace ${release.namespace}`,
    next: `if that release is still installed, use \`${helmUpgrade(release)}\` instead, this time with --force-conflicts`,
  };
}

function ofOthers(object: ManifestObject, managers: readonly string[]) {
  const whose = managers.length === 0 ? '' : `: ${managers.join(', ')}`;
  return {
    message: `replaced parts of the spec of ${nameOf(object)} that other field managers set${whose}`,
    next: 'if a manager writes these parts again, remove them at their source',
  };
}

/** Several objects become a List, as in kubectl. */
function asOne(crd: object, controller: Manifests | undefined): object {
  if (controller === undefined) return crd;
  return { apiVersion: 'v1', kind: 'List', items: [crd, ...controller.objects] };
}

function lines({ crd, controller }: InstallOutcome, dryRun: DryRun): string[] {
  const suffix = dryRunSuffix(dryRun);
  return [
    `${CRD_NAME} ${crd}${suffix}`,
    ...controller.map(({ object, applied, checked }) => {
      const unchecked = checked ? '' : `, not validated: namespace ${object.metadata.namespace} does not exist yet`;
      return `${nameOf(object)} ${applied}${suffix}${unchecked}`;
    }),
  ];
}
