/**
 * The dashboard's reducer: keys over the keys of the current rows. Pure; side effects (quit, cordon, read, drain) are
 * returned as an Effect.
 */
import { editedText, isQuit, jump, type Key, move } from './keys.ts';
import {
  isText,
  type KeyEffect,
  NO_POOL,
  type Place,
  placeOf,
  push,
  type ScreenData,
  type ViewState,
  withPlace,
} from './places.ts';

interface KeyResult {
  state: ViewState;
  effect?: KeyEffect;
}

/** The state after a key. Call clampSelection() next, with the screen of the new place. */
export function press(before: ViewState, key: Key, screen: ScreenData): KeyResult {
  if (key === 'ctrl-c') return { state: before, effect: { kind: 'quit' } };
  if (key === 'ctrl-l') return { state: before, effect: { kind: 'redraw' } };
  const state = { ...before, message: undefined };
  switch (state.mode.kind) {
    case 'filter':
      return { state: typeFilter(state, key) };
    case 'jump':
      if (key === 'enter' && isQuit(state.mode.text, screen)) return { state, effect: { kind: 'quit' } };
      return { state: jump(state, state.mode.text, key, screen) };
    case 'confirm': {
      const effect: KeyEffect = { kind: 'cordon', target: state.mode.target };
      return key === 'y' || key === 'Y'
        ? { state: browse(state), effect }
        : { state: withMessage(browse(state), 'Nothing was changed') };
    }
    case 'browse':
      return key === 'q' && state.places.length === 1 ? { state, effect: { kind: 'quit' } } : act(state, key, screen);
  }
}

/** Pasted text goes into the filter and the name to jump to only: elsewhere it would be read as keys. */
export function paste(state: ViewState, text: string): ViewState {
  const line = text.split(/[\r\n]/, 1)[0] ?? '';
  const { mode } = state;
  if (mode.kind === 'jump') return { ...state, mode: { ...mode, text: mode.text + line } };
  return mode.kind === 'filter' ? withPlace(state, { filter: placeOf(state).filter + line }) : state;
}

export function withMessage(state: ViewState, text: string, isError = false): ViewState {
  return { ...state, message: { text, isError } };
}

/** The text that was read for a place, unless that was left. */
export function withText(state: ViewState, read: Pick<Place, 'kind' | 'pool' | 'subject'>, text: string): ViewState {
  const isReadPlace = ({ kind, pool, subject }: Place) =>
    kind === read.kind && pool === read.pool && subject === read.subject;
  return { ...state, places: state.places.map(place => (isReadPlace(place) ? { ...place, text } : place)) };
}

function act(state: ViewState, key: Key, screen: ScreenData): KeyResult {
  const place = placeOf(state);
  const moved = move(place, key, screen);
  if (moved !== undefined) return { state: withPlace(state, moved) };
  // Readers of the help try its keys: a key that does not scroll only closes it.
  if (place.kind === 'help') return { state: back(state, key) };
  const sort = isText(place) ? undefined : screen.sorts.get(key);
  if (sort !== undefined) {
    const descending = place.sort.by === key ? !place.sort.descending : sort.descending;
    return { state: withPlace(state, { sort: { by: key, descending } }) };
  }
  switch (key) {
    case 'V':
    case 'W':
      return { state: isText(place) || place.kind === 'events' ? state : withMessage(state, noUsed(key, state)) };
    case 'd':
      return read(state, 'describe', place);
    case 'y':
      return read(state, 'yaml', place);
    case 'D':
      return drain(state, place, screen);
    default:
      return { state: go(state, key, screen) };
  }
}

function go(state: ViewState, key: Key, screen: ScreenData): ViewState {
  const place = placeOf(state);
  switch (key) {
    case '?':
    case 'h':
      return push(state, { kind: 'help' });
    case '/':
      return isText(place) ? state : { ...state, mode: { kind: 'filter' } };
    case ':':
      return { ...state, mode: { kind: 'jump', text: '' } };
    case 'escape':
    case 'left':
    case 'q':
      return back(state, key);
    case 'enter':
    case 'right':
      return enter(state, place);
    case 'e':
      return showEvents(state, place);
    case 'E':
      return showEvents(state, { ...place, kind: 'events', pool: undefined });
    case 'c':
      return ask(state, screen, true);
    case 'u':
      return ask(state, screen, false);
    case 't':
      return isText(place) || place.kind === 'events'
        ? withMessage(state, 't shows usage in the lists of pools and nodes: q goes back')
        : { ...state, usage: !state.usage };
    default:
      return state;
  }
}

function typeFilter(state: ViewState, key: Key): ViewState {
  const { filter } = placeOf(state);
  if (key === 'enter') return browse(state);
  if (key === 'escape') return withPlace(browse(state), { filter: '' });
  const text = editedText(filter, key);
  return text === undefined ? browse(state) : withPlace(state, { filter: text });
}

/** esc removes the filter first. */
function back(state: ViewState, key: Key): ViewState {
  if (key === 'escape' && placeOf(state).filter !== '') return withPlace(state, { filter: '' });
  return state.places.length > 1 ? { ...state, places: state.places.slice(0, -1) } : state;
}

function enter(state: ViewState, { kind, pool, selected }: Place): ViewState {
  if (selected === undefined) return state;
  if (kind === 'pools') return push(state, { kind: 'nodes', pool: selected });
  if (kind === 'nodes') return push(state, { kind: 'node', pool, subject: selected });
  if (kind === 'events') return push(state, { kind: 'event', pool, subject: selected });
  return state;
}

function showEvents(state: ViewState, place: Place): ViewState {
  const pool = poolOf(place);
  const of = pool === NO_POOL ? undefined : pool;
  if (place.kind === 'event' || (placeOf(state).kind === 'events' && placeOf(state).pool === of)) return state;
  // Newest first.
  return push(state, { kind: 'events', pool: of, sort: { by: 'L', descending: false } });
}

/** Opens the text of the selected pool or node, which is to be read. */
function read(state: ViewState, kind: 'describe' | 'yaml', place: Place): KeyResult {
  if (place.kind === kind) return { state };
  const pool = poolOf(place);
  const subject = nodeOf(place);
  if (pool === undefined) return { state };
  if (pool === NO_POOL && subject === undefined) return { state: withMessage(state, NO_SUCH_POOL) };
  const opened = { kind, pool, subject };
  return { state: push(state, opened), effect: { kind: 'read', place: opened } };
}

function drain(state: ViewState, place: Place, { ownerOf }: ScreenData): KeyResult {
  const node = nodeOf(place);
  // In the list of nodes the whole pool is never meant: the list may be filtered.
  if (node === undefined && place.kind === 'nodes') return { state };
  const pool = node === undefined ? poolOf(place) : ownerOf(node);
  if (node !== undefined && pool === undefined)
    return { state: withMessage(state, `Node ${node} is in no pool: drain it with kubectl drain`) };
  if (pool === undefined) return { state };
  if (pool === NO_POOL) return { state: withMessage(state, NO_SUCH_POOL) };
  return { state, effect: { kind: 'drain', target: { pool, node } } };
}

const NO_SUCH_POOL = `${NO_POOL} is not a pool: these nodes match no pool`;

/** The selected pool, or the one that the place is about. */
function poolOf({ kind, pool, selected }: Place): string | undefined {
  return kind === 'pools' ? selected : pool;
}

/** The selected node, or the one that the place is about. */
function nodeOf({ kind, selected, subject }: Place): string | undefined {
  if (kind === 'nodes') return selected;
  return kind === 'node' || kind === 'describe' || kind === 'yaml' ? subject : undefined;
}

function ask(state: ViewState, screen: ScreenData, unschedulable: boolean): ViewState {
  const place = placeOf(state);
  const name = nodeOf(place);
  if (name === undefined && place.kind !== 'nodes') return withMessage(state, onlyNodes(place, unschedulable));
  const node = screen.node(name ?? '');
  if (node === undefined) return state;
  if (node.unschedulable === unschedulable) {
    return withMessage(state, `Node ${node.name} is ${unschedulable ? 'already cordoned' : 'not cordoned'}`);
  }
  return { ...state, mode: { kind: 'confirm', target: { node, unschedulable } } };
}

/** Of a place without a node. */
function onlyNodes(place: Place, unschedulable: boolean): string {
  const pool = poolOf(place);
  const verb = unschedulable ? 'cordon' : 'uncordon';
  const all = pool === undefined || pool === NO_POOL ? '' : `; the whole pool: kubectl nodepool ${verb} ${pool}`;
  return `Only nodes can be ${verb}ed here${all}`;
}

/** Why there is no column to sort by. */
function noUsed(key: Key, { usage }: ViewState): string {
  if (!usage) return `${key} sorts by used resources: press t first`;
  return `${key} sorts by used resources, which are not known: metrics.k8s.io is not served, or not read yet`;
}

function browse(state: ViewState): ViewState {
  return { ...state, mode: { kind: 'browse' } };
}
