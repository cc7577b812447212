/** YAML 1.1's booleans: values as kubectl reads them, keys as they were written. */
import { EVENT_ID, type Event, getScalarValue, SCALAR_STYLE } from 'js-yaml';

const WORD = /^(?:y|n|yes|no|on|off)$/i;

/**
 * Marks plain keys such as `on` and `y` as quoted: a parser that knows YAML 1.1's booleans would make the label keys
 * "true" and "false" of them, which kubectl sends.
 */
export function keepKeys(events: readonly Event[], source: string): void {
  /** For each open collection: whether its next event is a key. */
  const open: { isMapping: boolean; isKey: boolean }[] = [];
  for (const event of events) {
    const parent = open.at(-1);
    const isKey = parent?.isMapping === true && parent.isKey;
    if (event.type === EVENT_ID.POP) open.pop();
    else {
      if (parent !== undefined) parent.isKey = !parent.isKey;
      const isPlain = event.type === EVENT_ID.SCALAR && event.style === SCALAR_STYLE.PLAIN;
      if (isPlain && isKey && WORD.test(getScalarValue(source, event))) event.style = SCALAR_STYLE.SINGLE_QUOTED;
      const isCollection = event.type !== EVENT_ID.SCALAR && event.type !== EVENT_ID.ALIAS;
      if (isCollection) open.push({ isMapping: event.type === EVENT_ID.MAPPING, isKey: true });
    }
  }
}
