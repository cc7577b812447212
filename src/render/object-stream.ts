/** Objects one after another, as `kubectl get --watch -o json|yaml|name` prints them: none of them in a list. */
import type { ChangeType } from '../operations/follow.ts';
import { type ApiObject, type ObjectFormat, printObjects, printWatchEvent } from './printers.ts';

/**
 * Gives the text of each object, without the last newline, in the order of the calls.
 * @param asEvents each with what happened to it, as `--output-watch-events` has it
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
