/** Objects one after another, not in a List, as `kubectl get --watch -o json|yaml|name` prints them. */

import { type ApiObject, type ObjectFormat, printObjects, printWatchEvent } from '../../print/printers.ts';
import type { ChangeType } from './follow.ts';

/**
 * Returns the printer, which gives the text of an object without the last newline.
 * @param asEvents as watch events: `--output-watch-events`
 */
export function objectStream(format: ObjectFormat, asEvents: boolean): (object: ApiObject, type: ChangeType) => string {
  let separator = '';
  return (object, type) => {
    const text = asEvents ? printWatchEvent(type, object, format) : printObjects([object], format, false);
    const separated = separator + text;
    if (format === 'yaml') separator = '---\n';
    return separated;
  };
}
