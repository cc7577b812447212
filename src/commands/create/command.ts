import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { canAsk } from '../../cli/confirm.ts';
import { EXIT, EXIT_STATUS, showErrors, showNote, showWarning, warnOnce } from '../../cli/errors.ts';
import type { Connection, Deps } from '../../cli/factory.ts';
import {
  concurrencyFlag,
  dryRunFlag,
  filenameFlags,
  objectOutputFlag,
  optionalNameArg,
  withoutKind,
  yesFlag,
} from '../../cli/flags.ts';
import { interruptible } from '../../cli/signals.ts';
import type { RawPool } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { API_VERSION, type NodePool } from '../../nodepool/types.ts';
import { approver } from '../shared/consent/approve.ts';
import type { Approve, EarlierWrite } from '../shared/consent/consent.ts';
import {
  type Protection,
  readProtection,
  unmanagedWarning,
  warnOfKubelets,
  warnOfOthersKeys,
} from '../shared/consent/membership-warnings.ts';
import { showCreated } from '../shared/create/show-created.ts';
import { hintReconcile, notApplied, reconcileNext } from '../shared/edit/next-step.ts';
import { impactTeller } from '../shared/impact/show-impact.ts';
import { createPoolFlags, hasPoolFlags, type PoolFlags, specFromFlags } from '../shared/spec/pool-flags.ts';

/** As for `kubectl create`, a client dry run needs no cluster. */
const NOT_ASKED = 'note: --dry-run=client does not ask the cluster; --dry-run=server also checks pools and nodes';

export default class Create extends BaseCommand<typeof Create> {
  static override summary = 'Create pools from flags or files.';
  static override description = `Only 'reconcile' changes nodes. --dry-run=client does not ask the cluster.
${EXIT_STATUS}`;
  static override examples = [
    {
      description: 'A pool of the nodes with the role "worker"',
      command: '<%= config.bin %> create worker --label tier=gold --taint dedicated=worker:NoSchedule',
    },
    {
      description: 'Make two nodes members of the pool, then reconcile the pool',
      command: '<%= config.bin %> create gpu --handler nvidia --nodes node-a,node-b --reconcile',
    },
    {
      description: 'Select members by a label that they already have',
      command: '<%= config.bin %> create spot --node-selector cloud.example.com/lifecycle=spot',
    },
    { description: 'From a file; a URL or - for stdin also works', command: '<%= config.bin %> create -f pools.yaml' },
  ];
  static override args = { name: optionalNameArg('Name of the pool.') };
  static override flags = {
    ...createPoolFlags,
    ...filenameFlags,
    nodes: Flags.string({
      summary: 'Nodes to make members; repeatable.',
      helpValue: 'NODE,…',
      multiple: true,
      multipleNonGreedy: true,
    }),
    reconcile: Flags.boolean({ summary: 'Reconcile the pools afterwards.' }),
    'dry-run': dryRunFlag(),
    output: objectOutputFlag('Print the pools instead of messages.'),
    concurrency: concurrencyFlag,
    yes: yesFlag('Scripts need --yes to evict pods.'),
  };

  protected async execute(flags: FlagsOf<typeof Create>, args: ArgsOf<typeof Create>, deps: Deps): Promise<number> {
    const { io, connect } = deps;
    const dryRun = flags['dry-run'];
    const nodes = splitNames(flags.nodes);
    const pools = await poolsToCreate(flags, args.name, deps);
    const { createPools } = await import('../shared/create/create.ts');
    let connected: { connection: Connection; approve: Approve } | undefined;
    let written: EarlierWrite | undefined;
    let protection: Protection | Promise<Protection> = 'none';
    // A running controller applies the pools as soon as they exist.
    const looksAhead = dryRun === 'none' && !flags.yes && canAsk(io);
    // For the advice when a pool already exists: with --recursive, it is unknown which file declares it.
    const files = flags.recursive ? ['FILE'] : (flags.filename ?? []);
    const options = { pools, nodes, concurrency: flags.concurrency, dryRun, files, looksAhead };
    const { created, errors } = await createPools(options, async () => {
      const connection = await connect({ concurrency: flags.concurrency, dryRun: dryRun !== 'none' });
      protection = readProtection(pools, connection, deps);
      const approval = { yes: flags.yes, dryRun: dryRun !== 'none', written: () => written };
      const approve = approver(approval, io, connection, impactTeller(io, connection));
      connected = { connection, approve };
      return { cluster: connection.cluster, approve, stoppable: work => interruptible(io, work) };
    });
    if (dryRun === 'client' && (flags.output === undefined || nodes.length > 0)) showNote(io, NOT_ASKED);
    const isInterrupted = errors.some(({ kind }) => kind === 'interrupted');
    const reconciles = flags.reconcile && dryRun === 'none' && created.length > 0 && !isInterrupted;
    const print = async (written: RawPool[]) =>
      showCreated(written, { format: flags.output, asList: pools.length > 1, dryRun }, deps);
    const printsAfter = reconciles && flags.output !== undefined;
    if (created.length > 0 && !printsAfter) await print(created);
    // Without a connection, it is unknown whether a policy already protects the pools.
    if (connected !== undefined) await warnOfKubelets(created, protection, io);
    await warnOfOthersKeys(created, io, connected?.connection.cluster.rules?.transient);
    const warn = warnOnce(io);
    if (connected !== undefined && created.length > 0) {
      const known = { isReconciled: reconciles, areNodesNamed: nodes.length > 0 };
      const { selectionWarnings } = await import('./overlaps.ts');
      warn(await selectionWarnings(created, connected.connection, known));
    }
    const failed = showErrors(errors, io);
    const names = created.map(pool => pool.metadata.name);
    if (!reconciles || connected === undefined) {
      for (const { metadata, spec } of created) {
        if (spec.unmanaged === 'Remove') showWarning(io, unmanagedWarning(metadata.name));
      }
      if (dryRun === 'none' && flags.output === undefined) hintReconcile(names, io);
      return failed;
    }
    written = notApplied(names, 'created');
    // The same approver, which knows what was approved at creation.
    const { approve, connection } = connected;
    const next = { concurrency: flags.concurrency, approve, warn, print: printsAfter ? print : undefined };
    const reconciled = await reconcileNext(created, next, deps, connection);
    return failed === EXIT.done || reconciled === EXIT.interrupted ? reconciled : failed;
  }
}

// The pools in the flags or files of `create`, and the nodes in --node.

/** The pools from the flags or from the files. Throws if both are given, or neither. */
async function poolsToCreate(
  flags: PoolFlags & { filename: string[] | undefined; recursive: boolean; nodes: string[] | undefined },
  name: string | undefined,
  { io, requestTimeoutMs }: Deps,
): Promise<NodePool[]> {
  if (flags.filename === undefined) {
    if (name === undefined) throw new NodepoolError('usage', 'no pool is specified', 'name a pool, or use -f FILE');
    return [{ apiVersion: API_VERSION, kind: 'NodePool', metadata: { name }, spec: specFromFlags(flags) }];
  }
  if (name !== undefined || hasPoolFlags(flags) || flags.nodes !== undefined) {
    throw new NodepoolError(
      'usage',
      '-f reads pools from a file and cannot be used with a name, --nodes or pool flags',
    );
  }
  const { readInput } = await import('../../cli/input.ts');
  const { declaredPool } = await import('../shared/create/pool-files.ts');
  const documents = await readInput(flags.filename, io, {
    urlDeadlineMs: requestTimeoutMs,
    recursive: flags.recursive,
  });
  return documents.map(document => declaredPool(document, io));
}

/** Throws for a flag with an empty value: an unset variable in a script. */
function splitNames(lists: readonly string[] | undefined): string[] {
  if (lists === undefined) return [];
  const names = lists
    .flatMap(list => list.split(','))
    .map(name => withoutKind(name.trim()))
    .filter(name => name !== '');
  if (names.length === 0) {
    throw new NodepoolError(
      'usage',
      `--nodes: "${lists.join(',')}" contains an empty name`,
      'write it like --nodes a,b',
    );
  }
  return names;
}
