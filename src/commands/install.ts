import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import { parseDuration } from '../cli/duration.ts';
import { warningLine } from '../cli/error-line.ts';
import type { Deps } from '../cli/factory.ts';
import { CRD_NAME, dryRunFlag, dryRunSuffix, outputFlag } from '../cli/flags.ts';
import { type Manifests, readControllerWith, readCrd, readPolicies } from '../cli/manifests.ts';
import { nameOf } from '../cli/object-name.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { checkNames } from '../operations/doctor/names.ts';
import { type InstallOutcome, install } from '../operations/install.ts';
import type { DryRun } from '../operations/ports.ts';

export default class Install extends BaseCommand<typeof Install> {
  static override summary = 'Install or update the NodePool resource in the cluster.';
  static override description =
    'Applies the definition of NodePool and waits until the cluster serves it. With --controller the cluster gets a controller too, which reconciles as things change: a Deployment in the namespace nodepool-system, the permissions it needs, and admission policies that keep kubelets from what pools rely on. It may be run again at any time.';
  static override examples = [
    { description: 'Install it, or bring it up to date', command: '<%= config.bin %> install' },
    { description: 'See the manifest; this needs no cluster', command: '<%= config.bin %> install --dry-run -o yaml' },
    {
      description: 'Reconcile in the cluster, with the image you built',
      command: '<%= config.bin %> install --controller --image registry.example.com/kubectl-nodepool:0.1.0',
    },
    { description: 'Have the server check it', command: '<%= config.bin %> install --dry-run=server' },
  ];
  static override flags = {
    controller: Flags.boolean({ summary: 'Install the controller as well.' }),
    image: Flags.string({ summary: 'Image that the controller runs.', helpValue: 'IMAGE' }),
    'pod-counts': Flags.boolean({ summary: 'Have the controller count pods; it may read them then.' }),
    'no-policies': Flags.boolean({ summary: 'Install the controller without the admission policies.' }),
    'dry-run': dryRunFlag(
      'Change nothing: "client" only reads, and with -o not even that; "server" has the server validate it.',
    ),
    output: outputFlag('Print what is sent, instead of messages.'),
    timeout: Flags.string({ default: '60s', summary: 'Longest wait until it is served.', helpValue: 'TIME' }),
  };

  protected async execute(
    flags: FlagsOf<typeof Install>,
    _args: ArgsOf<typeof Install>,
    { io, root, connect, progress }: Deps,
  ): Promise<number> {
    const timeoutMs = parseDuration(flags.timeout, '--timeout');
    const manifest = await readCrd(root);
    const controller = await readWanted(root, flags);
    const apply = async () => {
      const connection = await connect();
      const spinner = await progress(flags.controller ? 'Installing' : 'Installing the NodePool resource');
      const options = { crd: manifest.object, controller: controller?.objects ?? [], timeoutMs };
      return install({ ...options, dryRun: flags['dry-run'] }, connection).finally(() => spinner.stop());
    };
    // A client dry run with -o needs no cluster.
    const outcome = flags['dry-run'] === 'client' && flags.output !== undefined ? undefined : await apply();
    if (flags.output === 'yaml')
      io.out(
        [manifest, ...(controller === undefined ? [] : [controller])].map(({ text }) => text.trimEnd()).join('\n---\n'),
      );
    else if (flags.output === 'json') io.out(JSON.stringify(asOne(manifest.object, controller), null, 4));
    else if (outcome !== undefined) for (const line of lines(outcome, flags['dry-run'])) io.out(line);
    const { message, remedy, status } = checkNames(outcome?.otherGroups ?? []);
    if (status === 'warning') io.err(warningLine(`${message}; ${remedy}`));
    return 0;
  }
}

async function readWanted(
  root: string,
  { controller, image, 'pod-counts': podCounts, 'no-policies': noPolicies }: FlagsOf<typeof Install>,
): Promise<Manifests | undefined> {
  if (!controller) {
    const alone =
      image !== undefined ? '--image' : podCounts ? '--pod-counts' : noPolicies ? '--no-policies' : undefined;
    if (alone === undefined) return undefined;
    throw new NodepoolError('usage', `${alone} is for the controller`, 'add --controller');
  }
  if (image !== undefined) {
    const wanted = await readControllerWith(root, image, podCounts);
    if (noPolicies) return wanted;
    const policies = await readPolicies(root);
    return {
      text: `${policies.text.trimEnd()}\n---\n${wanted.text}`,
      objects: [...policies.objects, ...wanted.objects],
    };
  }
  throw new NodepoolError(
    'usage',
    '--controller needs the image to run',
    'build it from the Dockerfile of the sources, push it, and name it with --image',
  );
}

/** As a List, as kubectl prints several objects. */
function asOne(crd: object, controller: Manifests | undefined): object {
  if (controller === undefined) return crd;
  return { apiVersion: 'v1', kind: 'List', items: [crd, ...controller.objects] };
}

function lines({ crd, controller }: InstallOutcome, dryRun: DryRun): string[] {
  const suffix = dryRunSuffix(dryRun);
  return [
    `${CRD_NAME} ${crd}${suffix}`,
    ...controller.map(({ object, applied, checked }) => {
      const unchecked = checked ? '' : `, unchecked: there is no namespace ${object.metadata.namespace} yet`;
      return `${nameOf(object)} ${applied}${suffix}${unchecked}`;
    }),
  ];
}
