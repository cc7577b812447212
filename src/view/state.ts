/** Handles keys, given the keys of the rows. Pure; side effects (quit, cordon, read, a command) are an Effect. */
import { commandOf, editedText, isQuit, jump, type Key, move } from './keys.ts';
import {
  isText,
  type KeyEffect,
  NO_POOL,
  type Place,
  placeOf,
  push,
  type ReadKind,
  type ReadPlace,
  type ScreenData,
  START,
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
      if (key === 'enter') {
        const command = commandOf(state.mode.text, screen);
        if (command !== undefined) return openList(browse(state), command);
      }
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

/** Pasted text only goes into the filter and the name to jump to: elsewhere it would act as keys. */
export function paste(state: ViewState, text: string): ViewState {
  const line = text.split(/[\r\n]/, 1)[0] ?? '';
  const { mode } = state;
  if (mode.kind === 'jump') return { ...state, mode: { ...mode, text: mode.text + line } };
  return mode.kind === 'filter' ? withPlace(state, { filter: placeOf(state).filter + line }) : state;
}

export function withMessage(state: ViewState, text: string, isError = false): ViewState {
  return { ...state, message: { text, isError } };
}

/** Sets the text that was read for a place, unless the user has left it. */
export function withText(state: ViewState, read: ReadPlace, text: string): ViewState {
  const isReadPlace = ({ kind, pool, subject }: Place) =>
    kind === read.kind && pool === read.pool && subject === read.subject;
  return { ...state, places: state.places.map(place => (isReadPlace(place) ? { ...place, text } : place)) };
}

function act(state: ViewState, key: Key, screen: ScreenData): KeyResult {
  const place = placeOf(state);
  const moved = move(place, key, screen);
  if (moved !== undefined) return { state: withPlace(state, moved) };
  // Users of the help try its keys: a key that does not scroll only closes the help.
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
      return read(state, 'describe', { pool: poolOf(place), subject: nodeOf(place) });
    case 'y':
      return read(state, 'yaml', { pool: poolOf(place), subject: nodeOf(place) });
    case 'p':
      return read(state, 'pods', { pool: poolOf(place), subject: nodeOf(place) });
    case 'w':
      return nodeOf(place) === undefined
        ? { state: withMessage(state, 'w says why a node is in its pool: select a node first') }
        : read(state, 'why', { pool: poolOf(place), subject: nodeOf(place) });
    case '=':
      return read(state, 'diff', { pool: poolOrOwner(place, screen), subject: undefined });
    case 'r':
      return reconcile(state, poolOrOwner(place, screen));
    case 'D':
      return drain(state, place, screen);
    case 'c':
    case 'u':
      return cordon(state, place, screen, key === 'c');
    default:
      return { state: go(state, key) };
  }
}

function go(state: ViewState, key: Key): ViewState {
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

/** esc first removes the filter. */
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

/** Opens the text of a pool or node and reads it; reads it again if it is already open. */
function read(state: ViewState, kind: ReadKind, { pool, subject }: Omit<ReadPlace, 'kind'>): KeyResult {
  if (pool === undefined && subject === undefined) return { state };
  if (pool === NO_POOL && subject === undefined && kind !== 'pods') return { state: withMessage(state, NO_SUCH_POOL) };
  const opened = { kind, pool, subject };
  const isShown = placeOf(state).kind === kind;
  return { state: isShown ? state : push(state, opened), effect: { kind: 'read', place: opened } };
}

/** Opens the list of `:nodes` etc. on top of the list of pools, to which esc returns. */
function openList(state: ViewState, command: 'pools' | 'nodes' | 'pods' | 'events'): KeyResult {
  const root: ViewState = { ...state, places: [state.places[0] ?? START] };
  const all = { pool: undefined, subject: undefined };
  if (command === 'pools') return { state: root };
  if (command === 'pods') {
    const place = { kind: 'pods', ...all } as const;
    return { state: push(root, place), effect: { kind: 'read', place } };
  }
  return {
    state: command === 'nodes' ? push(root, { kind: 'nodes', ...all }) : showEvents(root, { ...START, kind: 'events' }),
  };
}

function reconcile(state: ViewState, pool: string | undefined): KeyResult {
  if (pool === undefined) return { state };
  if (pool === NO_POOL) return { state: withMessage(state, NO_SUCH_POOL) };
  return { state, effect: { kind: 'command', command: 'reconcile', pool, node: undefined } };
}

function drain(state: ViewState, place: Place, { ownerOf }: ScreenData): KeyResult {
  const node = nodeOf(place);
  // In the list of nodes, never use the whole pool: the list may be filtered.
  if (node === undefined && place.kind === 'nodes') return { state };
  const pool = node === undefined ? poolOf(place) : ownerOf(node);
  if (node !== undefined && pool === undefined)
    return { state: withMessage(state, `Node ${node} is in no pool: drain it with kubectl drain`) };
  if (pool === undefined) return { state };
  if (pool === NO_POOL) return { state: withMessage(state, NO_SUCH_POOL) };
  return { state, effect: { kind: 'command', command: 'drain', pool, node } };
}

const NO_SUCH_POOL = `${NO_POOL} is not a pool: these nodes match no pool`;

/** The selected pool, or the pool of the place. */
function poolOf({ kind, pool, selected }: Place): string | undefined {
  return kind === 'pools' ? selected : pool;
}

/** In the list of all nodes, the pool of the selected node. */
function poolOrOwner(place: Place, { ownerOf }: ScreenData): string | undefined {
  const pool = poolOf(place);
  const node = nodeOf(place);
  return pool === undefined && node !== undefined ? (ownerOf(node) ?? NO_POOL) : pool;
}

/** The selected node, or the node of the place. */
function nodeOf({ kind, selected, subject }: Place): string | undefined {
  if (kind === 'nodes') return selected;
  return kind === 'event' ? undefined : subject;
}

/** Asks about a node. For a pool, the command asks, and names cordons and maintenances of others. */
function cordon(state: ViewState, place: Place, screen: ScreenData, unschedulable: boolean): KeyResult {
  const name = nodeOf(place);
  // In the list of nodes, never use the whole pool: the list may be filtered.
  if (name === undefined && place.kind !== 'nodes') {
    const pool = poolOf(place);
    if (pool === undefined) return { state };
    if (pool === NO_POOL) return { state: withMessage(state, NO_SUCH_POOL) };
    const command = unschedulable ? 'cordon' : 'uncordon';
    return { state, effect: { kind: 'command', command, pool, node: undefined } };
  }
  const node = screen.node(name ?? '');
  if (node === undefined) return { state };
  if (node.unschedulable === unschedulable) {
    return { state: withMessage(state, `Node ${node.name} is ${unschedulable ? 'already cordoned' : 'not cordoned'}`) };
  }
  return { state: { ...state, mode: { kind: 'confirm', target: { node, unschedulable } } } };
}

/** Why there is no such column to sort by. */
function noUsed(key: Key, { usage }: ViewState): string {
  if (!usage) return `${key} sorts by used resources: press t first`;
  return `${key} sorts by used resources, which are unknown: metrics.k8s.io is not served or not read yet`;
}

function browse(state: ViewState): ViewState {
  return { ...state, mode: { kind: 'browse' } };
}
