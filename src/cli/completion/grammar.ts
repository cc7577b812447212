/** The part of oclif.manifest.json that is read without oclif: for completion, and to find a command after flags. */

export interface Flag {
  name: string;
  char?: string;
  aliases?: string[];
  summary?: string;
  helpValue?: string;
  hidden?: boolean;
  helpGroup?: string;
  type: 'boolean' | 'option';
  options?: string[];
  multiple?: boolean;
  allowNo?: boolean;
}

export interface Arg {
  name: string;
  multiple?: boolean;
  options?: string[];
  hidden?: boolean;
}

export type Flags = Record<string, Flag>;

export interface CommandGrammar {
  summary?: string;
  hidden?: boolean;
  args: Record<string, Arg>;
  flags: Flags;
}

export type Grammar = Record<string, CommandGrammar>;

/** The helpGroup of the flags that every command takes. */
export const GLOBAL = 'GLOBAL';

export function globalFlags(commands: Grammar): Flags {
  // Of the first command only: the bundle parses each command's part when it is read.
  const [any] = Object.keys(commands)
    .slice(0, 1)
    .map(id => commands[id]);
  return Object.fromEntries(Object.entries(any?.flags ?? {}).filter(([, { helpGroup }]) => helpGroup === GLOBAL));
}

/** Matches `--name`, `--name=value`, `-n`, `-nvalue` and `-n=value`; for `-wy` the flag is -w. */
export function flagOf(word: string, flags: Flags = {}): { flag: Flag | undefined; value: string | undefined } {
  const all = Object.values(flags);
  if (word.startsWith('--')) {
    const [, name = '', value] = /^--([^=]*)(?:=(.*))?$/s.exec(word) ?? [];
    const matches = (flag: Flag) =>
      flag.name === name || flag.aliases?.includes(name) || (flag.allowNo === true && `no-${flag.name}` === name);
    return { flag: all.find(matches), value };
  }
  const flag = all.find(({ char }) => char !== undefined && char === word[1]);
  return { flag, value: word.length > 2 ? word.slice(2).replace(/^=/, '') : undefined };
}

// The kind before a name, as `-o name` prints it.

export const POOL_KIND = /^(?:nodepools?|npool|pools?)(?:\.nodes\.lailin\.xyz)?\//;
export const NODE_KIND = /^nodes?\//;
