/** The state of the dashboard: a stack of places, the typed text, and a message. */
import type { Node } from '../nodepool/types.ts';

/** The key of the row for nodes without a pool. No pool can have this name. */
export const NO_POOL = '<none>';

/** One screen of the stack; esc removes the top one. */
export interface Place {
  kind: 'pools' | 'nodes' | 'events' | 'node' | 'event' | 'help' | ReadKind;
  /** The displayed pool, or NO_POOL; undefined means all pools. */
  pool: string | undefined;
  /** The name of the node, or the key of the event; undefined for a text about the pool. */
  subject: string | undefined;
  /** The key of the selected row, which stays selected when rows come and go. */
  selected: string | undefined;
  index: number;
  /** The first visible row, or the first line of a text. */
  top: number;
  sort: SortOrder;
  filter: string;
  /** The text of a ReadKind; undefined until it was read. */
  text?: string;
}

/** Texts that are read from the server when they are opened. */
export const READ_KINDS = ['describe', 'yaml', 'pods', 'diff', 'why'] as const;

export type ReadKind = (typeof READ_KINDS)[number];

export interface SortOrder {
  /** The letter of the column. */
  by: string;
  descending: boolean;
}

/** A node in the state of the time when the question was shown. */
export interface CordonTarget {
  unschedulable: boolean;
  node: Node;
}

export interface DrainTarget {
  pool: string;
  /** Undefined: all nodes of the pool. */
  node: string | undefined;
}

/** A command that runs on the restored terminal. `cordon` and `uncordon` of a pool. */
export type TerminalCommand = DrainTarget & { command: 'drain' | 'reconcile' | 'cordon' | 'uncordon' };

export type InputMode =
  | { kind: 'browse' }
  | { kind: 'filter' }
  | { kind: 'jump'; text: string }
  | { kind: 'confirm'; target: CordonTarget };

export interface ViewState {
  /** The last place is visible. Never empty. */
  places: readonly Place[];
  mode: InputMode;
  /** Whether lists show requested and used resources instead of allocatable ones. */
  usage: boolean;
  message: { text: string; isError: boolean } | undefined;
}

export type KeyEffect =
  | { kind: 'quit' }
  | { kind: 'redraw' }
  | { kind: 'cordon'; target: CordonTarget }
  | { kind: 'read'; place: ReadPlace }
  | ({ kind: 'command' } & TerminalCommand);

export interface ReadPlace extends Pick<Place, 'pool' | 'subject'> {
  kind: ReadKind;
}

/** What the screen shows when a key is pressed. */
export interface ScreenData {
  /** Keys of the rows, in order; empty for a text. */
  keys: readonly string[];
  /** Number of all rows or lines, and how many fit. */
  length: number;
  page: number;
  /** The letters of the columns, and whether the first press sorts in descending order. */
  sorts: ReadonlyMap<string, { descending: boolean }>;
  node(name: string): Node | undefined;
  pools(): readonly string[];
  /** Names of pools, then of nodes. */
  names(): readonly string[];
  ownerOf(node: string): string | undefined;
}

export const START: Place = {
  kind: 'pools',
  pool: undefined,
  subject: undefined,
  selected: undefined,
  index: 0,
  top: 0,
  sort: { by: 'N', descending: false },
  filter: '',
};

export const initialState: ViewState = {
  places: [START],
  mode: { kind: 'browse' },
  usage: false,
  message: undefined,
};

export function placeOf({ places }: ViewState): Place {
  return places.at(-1) ?? START;
}

export function isText({ kind }: Place): boolean {
  return kind !== 'pools' && kind !== 'nodes' && kind !== 'events';
}

export function withPlace(state: ViewState, change: Partial<Place>): ViewState {
  return { ...state, places: [...state.places.slice(0, -1), { ...placeOf(state), ...change }] };
}

export function push(state: ViewState, place: Partial<Place>): ViewState {
  return { ...state, places: [...state.places, { ...START, ...place }] };
}
