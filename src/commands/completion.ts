import * as Args from '@oclif/core/args';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import { completionScript, SHELLS, type Shell } from '../cli/completion/scripts.ts';
import type { Deps } from '../cli/factory.ts';

export default class Completion extends BaseCommand<typeof Completion> {
  static override summary = 'Print the script that completes command lines in a shell.';
  static override description =
    `The scripts for bash, zsh and fish complete 'kubectl-nodepool'. For 'kubectl nodepool', kubectl's own completion asks an executable named kubectl_complete-nodepool on the PATH: the npm package and the release archives bring it; for an installation by krew, 'completion kubectl' prints it.`;
  static override examples = [
    {
      description: 'bash, with the package bash-completion; without it: source <(kubectl nodepool completion bash)',
      command: '<%= config.bin %> completion bash > ~/.local/share/bash-completion/completions/kubectl-nodepool',
    },
    {
      description: 'zsh; or in ~/.zshrc, after compinit: source <(kubectl nodepool completion zsh)',
      command: '<%= config.bin %> completion zsh > "$fpath[1]/_kubectl-nodepool"',
    },
    {
      description: 'fish',
      command: '<%= config.bin %> completion fish > ~/.config/fish/completions/kubectl-nodepool.fish',
    },
    {
      description: "kubectl's own: in a folder of the PATH, and to be made executable with chmod +x",
      command: '<%= config.bin %> completion kubectl > ~/.local/bin/kubectl_complete-nodepool',
    },
  ];
  static override args = {
    shell: Args.string({
      description: "The shell; 'kubectl' for kubectl's own completion.",
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
