/** Ink's input as keys with names of our own. */
import type { Key as InkKey } from 'ink';

/** A value of NAMED, `ctrl-x`, or the typed character. */
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
  tab: 'tab',
  // Most terminals send it for the backspace key.
  delete: 'backspace',
} as const satisfies Partial<Record<keyof InkKey, Key>>;

/** Within other input. */
const CONTROLS: Readonly<Record<string, Key[]>> = { '\r': ['enter'], '\n': ['enter'], '\u007f': ['backspace'] };

/** The keys in one chunk of input, which may have several. Unknown keys are dropped. */
export function keysOf(input: string, key: InkKey): Key[] {
  for (const [name, ours] of Object.entries(NAMED)) if (key[name as keyof typeof NAMED]) return [ours];
  if (key.ctrl) return input.length === 1 ? [`ctrl-${input}`] : [];
  if (key.meta) return [];
  return [...input].flatMap(character => CONTROLS[character] ?? (character >= ' ' ? [character] : []));
}

// Text that is typed into the message line.

/** The text after a key; undefined when backspace leaves an empty line. Other keys change nothing. */
export function typed(text: string, key: Key): string | undefined {
  if (key === 'ctrl-u') return '';
  if (key === 'backspace') return text === '' ? undefined : [...text].slice(0, -1).join('');
  return [...key].length === 1 ? text + key : text;
}
