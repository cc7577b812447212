/** `:NAME` jumps to a pool or a node. */
import { suggest } from '../nodepool/suggest.ts';
import type { Key } from './keys.ts';
import { NO_POOL, push, type Scene, START, type State } from './places.ts';
import { typed } from './prompt.ts';

/** Names that begin with the text, pools first; else those that contain it; else the most similar one. */
export function candidates(text: string, names: readonly string[]): readonly string[] {
  const wanted = text.toLowerCase();
  const begin = names.filter(name => name.toLowerCase().startsWith(wanted));
  if (begin.length > 0) return begin;
  const contain = names.filter(name => name.toLowerCase().includes(wanted));
  if (contain.length > 0) return contain;
  const similar = suggest(text, names);
  return similar === undefined ? [] : [similar];
}

/** The state after a key while a name is typed: enter goes to the first candidate, tab completes. */
export function jump(state: State, text: string, key: Key, scene: Scene): State {
  const browsing: State = { ...state, mode: { kind: 'browse' } };
  if (key === 'escape') return browsing;
  if (key === 'enter') return text === '' ? browsing : goTo(browsing, text, scene);
  const next = key === 'tab' ? completed(text, scene.names()) : typed(text, key);
  return next === undefined ? browsing : { ...state, mode: { kind: 'jump', text: next } };
}

/** `:q`, as in k9s and vi, unless something has that name. */
export function isQuit(text: string, { names }: Pick<Scene, 'names'>): boolean {
  return /^(q|q!|qa|quit)$/.test(text) && !names().includes(text);
}

function goTo(state: State, text: string, { names, pools, ownerOf }: Scene): State {
  const [name] = candidates(text, names());
  if (name === undefined) {
    return { ...state, message: { text: `No pool or node is named like ${text}`, isError: true } };
  }
  const pool = pools().includes(name) ? name : (ownerOf(name) ?? NO_POOL);
  const root: State = { ...state, places: [{ ...START, selected: pool }] };
  return pool === name ? root : push(root, { kind: 'nodes', pool, selected: name });
}

/** As far as all candidates that begin with the text agree. */
function completed(text: string, names: readonly string[]): string {
  const [first = text, ...others] = candidates(text, names);
  let length = first.length;
  for (const name of others) while (!name.startsWith(first.slice(0, length))) length--;
  return Math.max(length, 0) > text.length ? first.slice(0, length) : text;
}
