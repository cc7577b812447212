/** The state of the dashboard: a stack of places, what is typed, and a message. */
import type { Node } from '../nodepool/types.ts';

/** The key of the row of the nodes that belong to no pool. No pool can have this name. */
export const NO_POOL = '<none>';

/** One screen of the stack; esc removes the topmost. */
export interface Place {
  kind: 'pools' | 'nodes' | 'events' | 'node' | 'event' | 'describe' | 'yaml' | 'help';
  /** The pool that is shown, or NO_POOL; for events, undefined means all pools. */
  pool: string | undefined;
  /** The name of the node, or the key of the event; of `describe` and `yaml`, undefined for those of the pool. */
  subject: string | undefined;
  /** The key of the selected row, which stays selected when rows come and go. */
  selected: string | undefined;
  index: number;
  /** The first visible row, or line of a text. */
  top: number;
  sort: SortOrder;
  filter: string;
  /** Of `describe` and `yaml`; undefined until it is read. */
  text?: string;
}

export interface SortOrder {
  /** The letter of the column. */
  by: string;
  descending: boolean;
}

export interface CordonTarget {
  /** As it was when the question was shown. */
  node: Node;
  unschedulable: boolean;
}

export interface DrainTarget {
  pool: string;
  /** Undefined: all nodes of the pool. */
  node: string | undefined;
}

export type InputMode =
  | { kind: 'browse' }
  | { kind: 'filter' }
  /** The name that is typed. */
  | { kind: 'jump'; text: string }
  | { kind: 'confirm'; target: CordonTarget };

export interface ViewState {
  /** The last one is shown. Never empty. */
  places: readonly Place[];
  mode: InputMode;
  /** Whether the lists show requested and used resources in place of allocatable ones. */
  usage: boolean;
  message: { text: string; isError: boolean } | undefined;
}

export type KeyEffect =
  | { kind: 'quit' }
  | { kind: 'redraw' }
  | { kind: 'cordon'; target: CordonTarget }
  /** Reads the text of a place. */
  | { kind: 'read'; place: Pick<Place, 'kind' | 'pool' | 'subject'> }
  | { kind: 'drain'; target: DrainTarget };

/** What is on the screen when a key is pressed. */
export interface ScreenData {
  /** Of the rows, in order; empty for a text. */
  keys: readonly string[];
  /** All rows or lines, and how many fit. */
  length: number;
  page: number;
  /** The columns' letters, and whether the first press sorts from the largest. */
  sorts: ReadonlyMap<string, { descending: boolean }>;
  node(name: string): Node | undefined;
  pools(): readonly string[];
  /** Of pools, then of nodes. */
  names(): readonly string[];
  /** The pool of a node. */
  ownerOf(node: string): string | undefined;
}

/** The first place. */
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
