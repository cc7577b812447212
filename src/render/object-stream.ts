/** Objects one after another, as `kubectl get --watch -o json|yaml|name` prints them: none of them in a list. */
import { type ApiObject, type ObjectFormat, printObjects } from './printers.ts';

/** Gives the text of each object, without the last newline, in the order of the calls. */
export function objectStream(format: ObjectFormat): (object: ApiObject) => string {
  let separator = '';
  return object => {
    const text = separator + printObjects([object], format, false);
    if (format === 'yaml') separator = '---\n';
    return text;
  };
}
