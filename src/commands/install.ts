import { Flags } from '@oclif/core';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import { parseDuration } from '../cli/duration.ts';
import type { Deps } from '../cli/factory.ts';
import { DEFINITION, dryRunFlag, dryRunSuffix, outputFlag } from '../cli/flags.ts';
import { readDefinition } from '../cli/manifests.ts';
import { install } from '../operations/install.ts';

export default class Install extends BaseCommand<typeof Install> {
  static override summary = 'Install or update the NodePool resource in the cluster.';
  static override description =
    'Applies the definition of NodePool and waits until the cluster serves it. It may be run again at any time.';
  static override examples = [
    { description: 'Install it, or bring it up to date', command: '<%= config.bin %> install' },
    { description: 'See the manifest; this needs no cluster', command: '<%= config.bin %> install --dry-run -o yaml' },
    { description: 'Have the server check it', command: '<%= config.bin %> install --dry-run=server' },
  ];
  static override flags = {
    'dry-run': dryRunFlag(),
    output: outputFlag('Print the definition that is sent, instead of a message.'),
    timeout: Flags.string({ default: '60s', summary: 'Longest wait until it is served.', helpValue: 'TIME' }),
  };

  protected async execute(
    flags: FlagsOf<typeof Install>,
    _args: ArgsOf<typeof Install>,
    { io, root, connect, progress }: Deps,
  ): Promise<number> {
    const timeoutMs = parseDuration(flags.timeout, '--timeout');
    const manifest = await readDefinition(root);
    const spinner = await progress('Installing the NodePool resource');
    const outcome = await install(
      { definition: manifest.object, dryRun: flags['dry-run'], timeoutMs },
      { connect },
    ).finally(() => spinner.stop());
    if (flags.output === 'yaml') io.out(manifest.text.trimEnd());
    else if (flags.output === 'json') io.out(JSON.stringify(manifest.object, null, 4));
    else io.out(`${DEFINITION} ${outcome}${dryRunSuffix(flags['dry-run'])}`);
    return 0;
  }
}
