/** The help screens: commands in groups, and a command's examples before its flags. */
import type { Command } from '@oclif/core/command';
import type { Config } from '@oclif/core/config';
import { CommandHelp, Help } from '@oclif/core/help';
import type * as Interfaces from '@oclif/core/interfaces';
import { GLOBAL } from './completion/grammar.ts';
import type { Io } from './io.ts';
import type { CommandTable } from './plugin.ts';

/** Longer lines are hard to read, even in a wide terminal. */
const MAX_WIDTH = 100;

const ORDER = ['USAGE', 'DESCRIPTION', 'EXAMPLES', 'ARGUMENTS', 'FLAGS', 'FLAG DESCRIPTIONS'];

/** The only templates in our texts. oclif would compile each with ejs, which takes half the time of a help screen. */
function fillIn(text: string, bin: string, command: string): string {
  return text.replaceAll('<%= config.bin %>', bin).replaceAll('<%= command.id %>', command);
}

function optionsHint(bin: string): string {
  return `Use '${bin} options' for the flags that every command takes.`;
}

class ExamplesFirstHelp extends CommandHelp {
  override render = (text: string) => fillIn(text, this.config.bin, this.command.id);

  protected override sections() {
    return super.sections().sort((a, b) => ORDER.indexOf(a.header) - ORDER.indexOf(b.header));
  }

  /** Leaves out the global flags; as in kubectl, a line names the command that lists them. */
  protected override groupFlags(flags: Command.Flag.Any[]) {
    return super.groupFlags(flags.filter(({ helpGroup }) => helpGroup !== GLOBAL));
  }

  /** Shows only the arguments and the required flags, which a dozen optional flags would hide. */
  protected override defaultUsage(): string {
    const args = Object.values(this.command.args).filter(arg => !arg.hidden);
    const words = args.map(arg => {
      const name = `${arg.name.toUpperCase()}${arg.multiple ? '...' : ''}`;
      return arg.required ? name : `[${name}]`;
    });
    const needed = Object.values(this.command.flags).filter(({ required }) => required);
    const flags = needed.map(flag => `--${flag.name}${flag.type === 'option' ? `=${flag.helpValue}` : ''}`);
    return [...words, ...flags, '[FLAGS]'].join(' ');
  }

  /** Leaves out the summary that oclif puts first: it is already printed above. */
  protected override description(): string | undefined {
    const { description } = this.command;
    return description === undefined ? undefined : this.wrap(this.render(description));
  }

  /** Leaves no space for a short name: oclif trims it only from the first flag of a section. */
  protected override flagHelpLabel(flag: Command.Flag.Any, showOptions?: boolean): string {
    return super.flagHelpLabel(flag, showOptions).trimStart();
  }

  /** In kubectl's format, ready to be copied. */
  protected override examples(examples: Command.Example[] | undefined | string): string | undefined {
    if (!Array.isArray(examples) || examples.length === 0) return undefined;
    return examples
      .map(example => (typeof example === 'string' ? example : `# ${example.description}\n${example.command}`))
      .map(example => this.render(example))
      .join('\n');
  }
}

export class ProgramHelp extends Help {
  protected override CommandHelpClass = ExamplesFirstHelp;
  override render = (text: string) => fillIn(text, this.config.bin, '');
  readonly #io: Io;
  readonly #commands: CommandTable;

  constructor(config: Config, commands: CommandTable, io: Io) {
    super(config as Interfaces.Config, {
      maxWidth: Math.min(io.columns, MAX_WIDTH),
      stripAnsi: !io.color,
      flagSortOrder: 'none',
    });
    this.#io = io;
    this.#commands = commands;
  }

  override async showRootHelp(): Promise<void> {
    const { bin, pjson } = this.config;
    this.log(this.wrap(`${pjson.description}.`));
    this.log(`\n${this.section('USAGE', `$ ${bin} COMMAND [ARGUMENTS] [FLAGS]`)}`);
    for (const [title, commands] of this.#groups()) {
      const rows: [string, string | undefined][] = commands.map(command => [command.id, command.summary]);
      this.log(`\n${this.section(title, this.renderList(rows, { indentation: 2 }))}`);
    }
    this.log(`\nUse '${bin} COMMAND --help' for flags and examples of a command.`);
    this.log(optionsHint(bin));
  }

  /** @param command any command: all have the global flags */
  async showOptions(command: Command.Loadable): Promise<void> {
    const global = Object.entries(command.flags).filter(([, { helpGroup }]) => helpGroup === GLOBAL);
    const flags = Object.fromEntries(global.map(([name, flag]) => [name, { ...flag, helpGroup: '' }]));
    this.log('The flags that every command takes, before or after its name.\n');
    const only = { ...this.opts, sections: ['FLAGS'] };
    this.log(new ExamplesFirstHelp({ ...command, flags } as Command.Loadable, this.config, only).generate());
  }

  /** Not named showCommandHelp, because that method of oclif takes other arguments. */
  async showHelpOf(command: Command.Loadable): Promise<void> {
    this.log(`${command.summary ?? ''}\n`);
    this.log(this.formatCommand(command));
    this.log(`\n${optionsHint(this.config.bin)}`);
  }

  /** Groups and commands in the order of the table; the columns are aligned across groups. */
  #groups(): Map<string, Command.Loadable[]> {
    const widest = Math.max(...Object.keys(this.#commands).map(id => id.length));
    const groups = new Map<string, Command.Loadable[]>();
    for (const [id, { group }] of Object.entries(this.#commands)) {
      const command = this.config.findCommand(id);
      if (command === undefined || command.hidden) continue;
      groups.set(group, [...(groups.get(group) ?? []), { ...command, id: id.padEnd(widest) }]);
    }
    return groups;
  }

  protected override log(...lines: string[]): void {
    for (const line of lines) this.#io.out(line);
  }
}
