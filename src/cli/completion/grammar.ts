/** The part of oclif.manifest.json that completion reads. */

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

export interface CommandGrammar {
  summary?: string;
  hidden?: boolean;
  args: Record<string, Arg>;
  flags: Record<string, Flag>;
}

export type Grammar = Record<string, CommandGrammar>;
