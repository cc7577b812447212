import { Chalk } from 'chalk';

/** Colours by name; each gives its argument back unchanged when colour is off. */
export interface Style {
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  bold(text: string): string;
  dim(text: string): string;
  cyan(text: string): string;
  inverse(text: string): string;
}

/** Whether to colour is the caller's decision: neither the terminal nor the environment is looked at. */
export function makeStyle(color: boolean): Style {
  return new Chalk({ level: color ? 1 : 0 });
}
