import * as Args from '@oclif/core/args';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import type { Deps } from '../../cli/factory.ts';
import { completionScript, SHELLS, type Shell } from './scripts.ts';

export default class Completion extends BaseCommand<typeof Completion> {
  static override summary = 'Print the completion script for a shell.';
  static override description =
    `The scripts for bash, zsh and fish complete 'kubectl nodepool' and 'kubectl-nodepool'. kubectl's own completion handles all other kubectl commands; load it before or after the script, or not at all. 'completion kubectl' prints an executable for use without a script: kubectl's own completion looks for kubectl_complete-nodepool in the PATH.`;
  static override examples = [
    {
      description: 'bash: in ~/.bashrc, source <(kubectl nodepool completion bash)',
      command: '<%= config.bin %> completion bash',
    },
    {
      description: 'zsh: in ~/.zshrc after compinit, source <(kubectl nodepool completion zsh)',
      command: '<%= config.bin %> completion zsh',
    },
    {
      description: 'fish: in ~/.config/fish/config.fish, as here',
      command: '<%= config.bin %> completion fish | source',
    },
    {
      description: "kubectl's own completion: write the file to a directory of the PATH, then run chmod +x",
      command: '<%= config.bin %> completion kubectl > ~/.local/bin/kubectl_complete-nodepool',
    },
  ];
  static override args = {
    shell: Args.string({
      description: "The shell, or 'kubectl' for kubectl's own completion.",
      options: [...SHELLS],
      required: true,
      ignoreStdin: true,
    }),
  };

  protected async execute(
    _flags: FlagsOf<typeof Completion>,
    args: ArgsOf<typeof Completion>,
    { io }: Deps,
  ): Promise<number> {
    io.write(completionScript(args.shell as Shell));
    return 0;
  }
}
