import { Chalk } from 'chalk';

/** Colours by name; without colour, each function returns its argument. */
export interface Style {
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  bold(text: string): string;
  dim(text: string): string;
  cyan(text: string): string;
  inverse(text: string): string;
}

/** The caller decides whether to use colour: chalk ignores the terminal and the environment. */
export function makeStyle(color: boolean): Style {
  return new Chalk({ level: color ? 1 : 0 });
}
