/** Text that is typed into the message line. */
import type { Key } from './keys.ts';

/** The text after a key; undefined when backspace leaves an empty line. Other keys change nothing. */
export function typed(text: string, key: Key): string | undefined {
  if (key === 'ctrl-u') return '';
  if (key === 'backspace') return text === '' ? undefined : [...text].slice(0, -1).join('');
  return [...key].length === 1 ? text + key : text;
}
