/**
 * The state of the dashboard, as a pure reducer of keys over the keys of the current rows. Side effects (quit, cordon) are
 * returned as an Effect.
 */
import type { Node } from '../nodepool/types.ts';
import type { Key } from './keys.ts';

/** One screen of the stack; esc removes the topmost. */
export interface Place {
  kind: 'pools' | 'nodes' | 'events' | 'node' | 'event' | 'help';
  /** The pool that is shown; for events, undefined means all pools. */
  pool: string | undefined;
  /** The name of the node, or the key of the event. */
  subject: string | undefined;
  /** The key of the selected row, which stays selected when rows come and go. */
  selected: string | undefined;
  index: number;
  /** The first visible row, or line of a text. */
  top: number;
  sort: Sort;
  filter: string;
}

export interface Sort {
  /** The letter of the column. */
  by: string;
  descending: boolean;
}

export interface Target {
  /** As of the question. */
  node: Node;
  unschedulable: boolean;
}

export type Mode = { kind: 'browse' } | { kind: 'filter' } | { kind: 'confirm'; target: Target };

export interface State {
  /** The last one is shown. Never empty. */
  places: readonly Place[];
  mode: Mode;
  message: { text: string; isError: boolean } | undefined;
}

export type Effect = { kind: 'quit' } | { kind: 'redraw' } | { kind: 'cordon'; target: Target };

/** What is on the screen when a key is pressed. */
export interface Scene {
  /** Of the rows, in order; empty for a text. */
  keys: readonly string[];
  /** All rows or lines, and how many fit. */
  length: number;
  page: number;
  /** The columns' letters, and whether the first press sorts from the largest. */
  sorts: ReadonlyMap<string, { descending: boolean }>;
  node(name: string): Node | undefined;
}

const START: Place = {
  kind: 'pools',
  pool: undefined,
  subject: undefined,
  selected: undefined,
  index: 0,
  top: 0,
  sort: { by: 'N', descending: false },
  filter: '',
};

export const initialState: State = { places: [START], mode: { kind: 'browse' }, message: undefined };

export function placeOf({ places }: State): Place {
  return places.at(-1) ?? START;
}

export function isText({ kind }: Place): boolean {
  return kind === 'node' || kind === 'event' || kind === 'help';
}

/** The state after a key. Call clampSelection() next, with the scene of the new place. */
export function press(before: State, key: Key, scene: Scene): { state: State; effect?: Effect } {
  if (key === 'ctrl-c') return { state: before, effect: { kind: 'quit' } };
  if (key === 'ctrl-l') return { state: before, effect: { kind: 'redraw' } };
  const state = { ...before, message: undefined };
  switch (state.mode.kind) {
    case 'filter':
      return { state: typeFilter(state, key) };
    case 'confirm': {
      const effect: Effect = { kind: 'cordon', target: state.mode.target };
      return key === 'y' || key === 'Y'
        ? { state: browse(state), effect }
        : { state: withMessage(browse(state), 'Nothing was changed') };
    }
    case 'browse':
      return key === 'q' && placeOf(state).kind !== 'help'
        ? { state, effect: { kind: 'quit' } }
        : { state: act(state, key, scene) };
  }
}

/** Pasted text goes into the filter only: elsewhere it would be read as keys. */
export function paste(state: State, text: string): State {
  if (state.mode.kind !== 'filter') return state;
  return withPlace(state, { filter: placeOf(state).filter + (text.split(/[\r\n]/, 1)[0] ?? '') });
}

/** Adapts selection and scroll position to the current rows. */
export function clampSelection(state: State, { keys, length, page }: Pick<Scene, 'keys' | 'length' | 'page'>): State {
  const place = placeOf(state);
  const end = Math.max(length - page, 0);
  if (isText(place)) return withPlace(state, { top: clamp(place.top, end) });
  const found = place.selected === undefined ? -1 : keys.indexOf(place.selected);
  const index = found >= 0 ? found : clamp(place.index, keys.length - 1);
  const top = Math.min(Math.max(clamp(place.top, end), index - page + 1), index);
  return withPlace(state, { index, selected: keys[index], top: Math.max(top, 0) });
}

export function withMessage(state: State, text: string, isError = false): State {
  return { ...state, message: { text, isError } };
}

function act(state: State, key: Key, scene: Scene): State {
  const place = placeOf(state);
  const moved = move(place, key, scene);
  if (moved !== undefined) return withPlace(state, moved);
  // Readers of the help try its keys: a key that does not scroll only closes it.
  if (place.kind === 'help') return back(state, key);
  const sort = isText(place) ? undefined : scene.sorts.get(key);
  if (sort !== undefined) {
    const descending = place.sort.by === key ? !place.sort.descending : sort.descending;
    return withPlace(state, { sort: { by: key, descending } });
  }
  switch (key) {
    case '?':
    case 'h':
      return push(state, { kind: 'help' });
    case '/':
      return isText(place) ? state : { ...state, mode: { kind: 'filter' } };
    case 'escape':
    case 'left':
      return back(state, key);
    case 'enter':
    case 'right':
      return enter(state, place);
    case 'e':
      return showEvents(state, place);
    case 'E':
      return showEvents(state, { ...place, kind: 'events', pool: undefined });
    case 'c':
      return ask(state, scene, true);
    case 'u':
      return ask(state, scene, false);
    default:
      return state;
  }
}

/** The new cursor, or scroll position of a text. Undefined for keys that do not move. */
function move(place: Place, key: Key, { keys, length, page }: Scene): Partial<Place> | undefined {
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

function typeFilter(state: State, key: Key): State {
  const { filter } = placeOf(state);
  if (key === 'enter') return browse(state);
  if (key === 'escape') return withPlace(browse(state), { filter: '' });
  if (key === 'ctrl-u') return withPlace(state, { filter: '' });
  if (key === 'backspace') {
    return filter === '' ? browse(state) : withPlace(state, { filter: [...filter].slice(0, -1).join('') });
  }
  return [...key].length === 1 ? withPlace(state, { filter: filter + key }) : state;
}

/** esc removes the filter first. */
function back(state: State, key: Key): State {
  if (key === 'escape' && placeOf(state).filter !== '') return withPlace(state, { filter: '' });
  return state.places.length > 1 ? { ...state, places: state.places.slice(0, -1) } : state;
}

function enter(state: State, { kind, pool, selected }: Place): State {
  if (selected === undefined) return state;
  if (kind === 'pools') return push(state, { kind: 'nodes', pool: selected });
  if (kind === 'nodes') return push(state, { kind: 'node', pool, subject: selected });
  if (kind === 'events') return push(state, { kind: 'event', pool, subject: selected });
  return state;
}

function showEvents(state: State, { kind, pool, selected }: Place): State {
  const of = kind === 'pools' ? selected : pool;
  if (kind === 'event' || (placeOf(state).kind === 'events' && placeOf(state).pool === of)) return state;
  // Newest first.
  return push(state, { kind: 'events', pool: of, sort: { by: 'L', descending: false } });
}

function ask(state: State, scene: Scene, unschedulable: boolean): State {
  const { kind, selected, subject } = placeOf(state);
  if (kind !== 'nodes' && kind !== 'node')
    return withMessage(state, 'Only nodes can be cordoned: press enter on their pool first');
  const node = scene.node((kind === 'node' ? subject : selected) ?? '');
  if (node === undefined) return state;
  if (node.unschedulable === unschedulable) {
    return withMessage(state, `Node ${node.name} is ${unschedulable ? 'already cordoned' : 'not cordoned'}`);
  }
  return { ...state, mode: { kind: 'confirm', target: { node, unschedulable } } };
}

function push(state: State, place: Partial<Place>): State {
  return { ...state, places: [...state.places, { ...START, ...place }] };
}

function withPlace(state: State, change: Partial<Place>): State {
  return { ...state, places: [...state.places.slice(0, -1), { ...placeOf(state), ...change }] };
}

function browse(state: State): State {
  return { ...state, mode: { kind: 'browse' } };
}

/** Between 0 and the last index. */
function clamp(value: number, last: number): number {
  return Math.max(Math.min(value, last), 0);
}
