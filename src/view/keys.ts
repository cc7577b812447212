/** What the terminal sends as keys with names of our own. */
import type { Key as InkKey } from 'ink';

/** A name of NAMED, `ctrl-x`, or the character that was typed. */
export type Key = string;

const NAMED = {
  upArrow: 'up',
  downArrow: 'down',
  leftArrow: 'left',
  rightArrow: 'right',
  pageUp: 'pageup',
  pageDown: 'pagedown',
  home: 'home',
  end: 'end',
  return: 'enter',
  escape: 'escape',
  backspace: 'backspace',
  // What most terminals send for the backspace key.
  delete: 'backspace',
} as const satisfies Partial<Record<keyof InkKey, Key>>;

/** In the middle of other input. */
const CONTROLS: Readonly<Record<string, Key[]>> = { '\r': ['enter'], '\n': ['enter'], '\u007f': ['backspace'] };

/** The keys in one piece of input: what is typed fast comes at once. A key that means nothing here is none. */
export function keysOf(input: string, key: InkKey): Key[] {
  for (const [name, ours] of Object.entries(NAMED)) if (key[name as keyof typeof NAMED]) return [ours];
  if (key.ctrl) return input.length === 1 ? [`ctrl-${input}`] : [];
  if (key.meta || key.tab) return [];
  return [...input].flatMap(character => CONTROLS[character] ?? (character >= ' ' ? [character] : []));
}
