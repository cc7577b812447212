/** Converts Ink's input to our own key names. */
import type { Key as InkKey } from 'ink';
import { suggest } from '../nodepool/text.ts';
import { sharedStart } from '../print/names.ts';
import {
  isText,
  NO_POOL,
  type Place,
  placeOf,
  push,
  type ScreenData,
  START,
  type ViewState,
  withPlace,
} from './places.ts';

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
  // Most terminals send this for the backspace key.
  delete: 'backspace',
} as const satisfies Partial<Record<keyof InkKey, Key>>;

/** Control characters within other input. */
const CONTROLS: Readonly<Record<string, Key[]>> = { '\r': ['enter'], '\n': ['enter'], '\u007f': ['backspace'] };

/** The keys in one chunk of input, which may contain several. Drops unknown keys. */
export function keysOf(input: string, key: InkKey): Key[] {
  for (const [name, ours] of Object.entries(NAMED)) if (key[name as keyof typeof NAMED]) return [ours];
  if (key.ctrl) return input.length === 1 ? [`ctrl-${input}`] : [];
  if (key.meta) return [];
  return [...input].flatMap(character => CONTROLS[character] ?? (character >= ' ' ? [character] : []));
}

// Text that is typed into the message line.

/** The text after a key; undefined if backspace is pressed on an empty line. Other keys change nothing. */
export function editedText(text: string, key: Key): string | undefined {
  if (key === 'ctrl-u') return '';
  if (key === 'backspace') return text === '' ? undefined : [...text].slice(0, -1).join('');
  return [...key].length === 1 ? text + key : text;
}

// Moves the cursor of a list or the scroll position of a text.

/** Adapts selection and scroll position to the current rows. */
export function clampSelection(
  state: ViewState,
  { keys, length, page }: Pick<ScreenData, 'keys' | 'length' | 'page'>,
): ViewState {
  const place = placeOf(state);
  const end = Math.max(length - page, 0);
  if (isText(place)) return withPlace(state, { top: clamp(place.top, end) });
  const found = place.selected === undefined ? -1 : keys.indexOf(place.selected);
  const index = found >= 0 ? found : clamp(place.index, keys.length - 1);
  const top = Math.min(Math.max(clamp(place.top, end), index - page + 1), index);
  return withPlace(state, { index, selected: keys[index], top: Math.max(top, 0) });
}

/** The new cursor, or the scroll position of a text. Undefined for keys that do not move. */
export function move(place: Place, key: Key, { keys, length, page }: ScreenData): Partial<Place> | undefined {
  const isOfText = isText(place);
  const from = isOfText ? place.top : place.index;
  const last = (isOfText ? length - page : keys.length) - (isOfText ? 0 : 1);
  const step = Math.max(page - 1, 1);
  const steps: Partial<Record<Key, number>> = {
    up: from - 1,
    k: from - 1,
    down: from + 1,
    j: from + 1,
    pageup: from - step,
    'ctrl-b': from - step,
    pagedown: from + step,
    'ctrl-f': from + step,
    ' ': from + step,
    g: 0,
    home: 0,
    G: last,
    end: last,
  };
  const to = steps[key];
  if (to === undefined) return undefined;
  const index = clamp(to, last);
  return isOfText ? { top: index } : { index, selected: keys[index] };
}

/** Between 0 and the last index. */
function clamp(value: number, last: number): number {
  return Math.max(Math.min(value, last), 0);
}

// `:NAME` jumps to a pool or a node, `:nodes` etc. to a list.

export const COMMANDS = ['pools', 'nodes', 'pods', 'events'] as const;

/** The list with this name, unless a pool or a node has the name. */
export function commandOf(text: string, { names }: Pick<ScreenData, 'names'>): (typeof COMMANDS)[number] | undefined {
  const found = COMMANDS.find(command => command === text);
  return found !== undefined && names().includes(found) ? undefined : found;
}

/** Names that begin with the text, pools first; else those that contain it; else the most similar name. */
export function jumpCandidates(text: string, names: readonly string[]): readonly string[] {
  const wanted = text.toLowerCase();
  const begin = names.filter(name => name.toLowerCase().startsWith(wanted));
  if (begin.length > 0) return begin;
  const contain = names.filter(name => name.toLowerCase().includes(wanted));
  if (contain.length > 0) return contain;
  const similar = suggest(text, names);
  return similar === undefined ? [] : [similar];
}

/** The state after a key while a name is typed: enter goes to the first candidate, tab completes. */
export function jump(state: ViewState, text: string, key: Key, screen: ScreenData): ViewState {
  const browsing: ViewState = { ...state, mode: { kind: 'browse' } };
  if (key === 'escape') return browsing;
  if (key === 'enter') return text === '' ? browsing : goTo(browsing, text, screen);
  const next = key === 'tab' ? completed(text, screen.names()) : editedText(text, key);
  return next === undefined ? browsing : { ...state, mode: { kind: 'jump', text: next } };
}

/** `:q`, as in k9s and vi, unless a pool or a node has that name. */
export function isQuit(text: string, { names }: Pick<ScreenData, 'names'>): boolean {
  return /^(q|q!|qa|quit)$/.test(text) && !names().includes(text);
}

function goTo(state: ViewState, text: string, { names, pools, ownerOf }: ScreenData): ViewState {
  const [name] = jumpCandidates(text, names());
  if (name === undefined) {
    return { ...state, message: { text: `No pool or node matches "${text}"`, isError: true } };
  }
  const pool = pools().includes(name) ? name : (ownerOf(name) ?? NO_POOL);
  const root: ViewState = { ...state, places: [{ ...START, selected: pool }] };
  return pool === name ? root : push(root, { kind: 'nodes', pool, selected: name });
}

/** Completes the text to the longest common prefix of the candidates. */
function completed(text: string, names: readonly string[]): string {
  const candidates = jumpCandidates(text, names);
  const length = sharedStart(candidates);
  return length > text.length ? (candidates[0] ?? text).slice(0, length) : text;
}
