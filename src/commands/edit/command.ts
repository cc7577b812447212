import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { canAsk } from '../../cli/confirm.ts';
import { EXIT, EXIT_STATUS, showNote, showWarning, warnOnce } from '../../cli/errors.ts';
import type { Deps } from '../../cli/factory.ts';
import { concurrencyFlag, dryRunFlag, dryRunSuffix, nameArg, objectOutputFlag, yesFlag } from '../../cli/flags.ts';
import type { Io } from '../../cli/io.ts';
import type { RawPool } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { ObjectFormat } from '../../print/printers.ts';
import { poolRef } from '../../print/sanitize.ts';
import { seesAll, showPlanned } from '../shared/changes/diff.ts';
import { approver } from '../shared/consent/approve.ts';
import type { EarlierWrite } from '../shared/consent/consent.ts';
import {
  deletingWarning,
  isKubeletRiskNew,
  readProtection,
  unmanagedWarning,
  warnOfApply,
  warnOfKubelets,
  warnOfOthersKeys,
} from '../shared/consent/membership-warnings.ts';
import type { EditResult } from '../shared/edit/edit.ts';
import { hintReconcile, notApplied, reconcileNext } from '../shared/edit/next-step.ts';
import { type EditOptions, mayCostPods } from '../shared/edit/plan-edit.ts';
import { impactTeller } from '../shared/impact/show-impact.ts';
import { editPoolFlags, editsFromFlags, hasPoolFlags } from '../shared/spec/pool-flags.ts';

export default class Edit extends BaseCommand<typeof Edit> {
  static override summary = 'Edit a pool in an editor or by flags.';
  static override description =
    `Without flags, edit opens KUBE_EDITOR, EDITOR or vi. Flags change only the named fields; an empty rollout flag removes its field. Concurrent changes are never overwritten. Only 'reconcile' changes nodes.

${EXIT_STATUS}`;
  static override examples = [
    { description: 'In an editor', command: '<%= config.bin %> edit worker' },
    {
      description: 'Set one label, remove another',
      command: '<%= config.bin %> edit worker --label tier=silver --label team-',
    },
    {
      description: 'Set a taint, remove another, and remove the handler',
      command: '<%= config.bin %> edit worker --taint dedicated=x:NoExecute --taint old:NoSchedule- --handler ""',
    },
  ];
  static override args = { name: nameArg('Name of the pool.') };
  static override flags = {
    ...editPoolFlags,
    'dry-run': dryRunFlag('With flags: change nothing; with "server", the server validates every write.'),
    reconcile: Flags.boolean({ summary: 'Reconcile the pools afterwards.' }),
    output: objectOutputFlag('Print the pools instead of messages.'),
    concurrency: concurrencyFlag,
    yes: yesFlag('Scripts need --yes for some edits.'),
  };

  protected async execute(flags: FlagsOf<typeof Edit>, args: ArgsOf<typeof Edit>, deps: Deps): Promise<number> {
    const { io, connect } = deps;
    const dryRun = flags['dry-run'];
    const byFlags = hasPoolFlags(flags);
    if (!byFlags && dryRun !== 'none') throw new NodepoolError('usage', '--dry-run needs flags that edit fields');
    const edits = editsFromFlags(flags);
    const { concurrency } = flags;
    const annotations = Object.keys(edits.annotations);
    const connection = await connect({ concurrency, dryRun: dryRun !== 'none', annotations });
    let written: EarlierWrite | undefined;
    const showsAhead = dryRun !== 'none' && flags.output === undefined;
    const showsImpact = showsAhead && seesAll(io);
    const approval = { yes: flags.yes, dryRun: dryRun !== 'none', showsImpact, written: () => written };
    const approve = approver(approval, io, connection, impactTeller(io, connection));
    const warn = warnOnce(io);
    const reconciling = flags.reconcile && dryRun === 'none';
    // A running controller applies the edit as soon as it is saved.
    const looksAhead = showsAhead || (dryRun === 'none' && !flags.yes && canAsk(io));
    const { cluster, workloads } = connection;
    const options: EditOptions = { cluster, workloads, dryRun, approve, warn, reconciles: reconciling, looksAhead };
    const result = byFlags
      ? await (await import('../shared/edit/edit.ts')).editByFlags(args.name, edits, options)
      : await editInEditor(args.name, options, io);
    if (result.kind === 'cancelled') {
      io.err(`Edit cancelled: ${result.why}.`);
      return 0;
    }
    if (result.kind === 'edited' && edits.unmanaged === 'Remove') showWarning(io, unmanagedWarning(args.name));
    if (result.kind === 'edited') {
      if (await isKubeletRiskNew(result.before, result.pool))
        await warnOfKubelets([result.pool], readProtection([result.pool], connection, deps), io);
      await warnOfOthersKeys([result.pool], io, connection.cluster.rules?.transient);
      await warnOfApply(result.pool, io);
    }
    if (result.kind === 'edited' && result.keptRole !== undefined)
      showNote(io, keptRoleNote(args.name, result.keptRole));
    for (const what of result.notFound) showWarning(io, `pool ${args.name} has no ${what}`);
    const print = (pool: RawPool) => show({ ...result, pool }, flags.output, dryRunSuffix(dryRun), deps);
    const deleting = result.kind === 'edited' ? deletingWarning(result.pool) : undefined;
    const reconciles = reconciling && deleting === undefined;
    const printsAfter = reconciles && flags.output !== undefined;
    if (showsAhead && result.kind === 'edited' && result.ahead !== undefined)
      await showPlanned(result.ahead, io, connection, result.seen);
    if (!printsAfter) await print(result.pool);
    if (deleting !== undefined) {
      showWarning(io, deleting);
      // Flags edit only the spec; with an editor, the user may have removed a finalizer.
      return byFlags || flags.reconcile ? EXIT.error : EXIT.done;
    }
    const names = [args.name];
    if (!reconciles) {
      if (result.kind === 'edited' && dryRun === 'none' && flags.output === undefined)
        hintReconcile(names, io, mayCostPods(result.before, result.pool));
      return 0;
    }
    if (result.kind === 'edited') written = notApplied(names, 'edited');
    const after = printsAfter ? async ([pool = result.pool]: RawPool[]) => print(pool) : undefined;
    const released = result.kind === 'edited' ? result.released : undefined;
    return reconcileNext([result.pool], { concurrency, approve, warn, print: after, released }, deps, connection);
  }
}

function keptRoleNote(pool: string, role: string): string {
  return `note: pool ${pool} still requires ${role}, its default selector, now in spec.nodeSelector; to remove this label from the selector, add --node-selector ${role}-`;
}

async function editInEditor(name: string, options: EditOptions, io: Io): Promise<EditResult> {
  const { createEditSession } = await import('./edit-text.ts');
  const { parseDocuments } = await import('../../cli/yaml.ts');
  const { decodePool } = await import('../../nodepool/spec/coerce.ts');
  const { editAsText } = await import('./edit-text.ts');
  const { printYaml } = await import('../../print/printers.ts');
  const decode = (text: string) => {
    const [document, ...more] = parseDocuments(text, 'edit');
    if (document === undefined || more.length > 0) {
      throw new NodepoolError('input', `expected one pool, found ${more.length + (document ? 1 : 0)} documents`);
    }
    return decodePool(document.value, document.source, document.placeOf);
  };
  return editAsText(name, { editor: createEditSession(io), decode, print: printYaml }, options);
}

async function show(
  result: Exclude<EditResult, { kind: 'cancelled' }>,
  output: ObjectFormat | undefined,
  suffix: string,
  { io }: Deps,
): Promise<void> {
  if (output !== undefined) {
    const { printObjects } = await import('../../print/printers.ts');
    io.out(printObjects([result.pool], output, false));
    return;
  }
  const outcome = result.kind === 'edited' ? 'edited' : 'not changed';
  io.out(`${poolRef(result.pool.metadata.name)} ${outcome}${suffix}`);
}
