/** Moves the cursor of a list and the scroll position of a text. */
import type { Key } from './keys.ts';
import { isText, type Place, placeOf, type Scene, type State, withPlace } from './places.ts';

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

/** The new cursor, or scroll position of a text. Undefined for keys that do not move. */
export function move(place: Place, key: Key, { keys, length, page }: Scene): Partial<Place> | undefined {
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
