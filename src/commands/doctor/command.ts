import { setTimeout as sleep } from 'node:timers/promises';
import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { EXIT } from '../../cli/errors.ts';
import type { Deps } from '../../cli/factory.ts';
import { outputFlag } from '../../cli/flags.ts';
import { terminalWidth } from '../../cli/io.ts';
import { readBornInPool, readController, readCrd, readPolicies } from '../../cli/manifests.ts';

export default class Doctor extends BaseCommand<typeof Doctor> {
  static override summary = 'Check everything that pools depend on.';
  static override description =
    `Checks kubeconfig, server, CRD, permissions, controller, pools and nodes. Prints each problem with its next step, and changes nothing. Skips checks that depend on a failed check.

Exit codes: 0 no errors; 1 a check found an error; 2 usage.`;
  static override examples = [
    { description: 'Problems, and the number of passed checks', command: '<%= config.bin %> doctor' },
    { description: 'Each check', command: '<%= config.bin %> doctor --all' },
    { description: 'For a script', command: '<%= config.bin %> doctor -o json' },
  ];
  static override flags = {
    output: outputFlag('Print all checks as an object.'),
    all: Flags.boolean({ summary: 'Show all checks, including those that passed.', exclusive: ['quiet'] }),
    quiet: Flags.boolean({ char: 'q', summary: 'Print errors and warnings only.' }),
  };

  protected async execute(
    flags: FlagsOf<typeof Doctor>,
    _args: ArgsOf<typeof Doctor>,
    { io, root, connect, progress }: Deps,
  ): Promise<number> {
    const { doctor } = await import('./run.ts');
    const [crd, controller, policies, bornInPool] = await Promise.all([
      readCrd(root),
      readController(root),
      readPolicies(root),
      readBornInPool(root),
    ]);
    const options = {
      crd: crd.object,
      controller: controller.objects,
      policies: policies.objects,
      bornInPool: bornInPool.objects,
      commands: this.config.commandIDs,
    };
    const spinner = await progress('Checking the cluster');
    const checks = await doctor(options, { connect, now: io.now, sleep: ms => sleep(ms) }).finally(() =>
      spinner.stop(),
    );
    const { printChecks, renderChecks, worstStatus } = await import('./print.ts');
    if (flags.output !== undefined) {
      io.out(printChecks(checks, flags.output));
    } else {
      const { makeStyle } = await import('../../print/style.ts');
      const shown = flags.quiet ? 'quiet' : flags.all ? 'all' : 'problems';
      const text = renderChecks(checks, shown, makeStyle(io.color), terminalWidth(io));
      if (text !== '') io.out(text);
    }
    return worstStatus(checks) === 'error' ? EXIT.error : EXIT.done;
  }
}
