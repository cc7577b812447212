import { formatError } from '../render/error.ts';

/**
 * The text of an error on stderr. Of its message only a list of problems has several lines, and those are indented: any
 * other newline is part of a value and is shown as one, or the rest of the value would pass for a line of ours.
 */
export function errorLine({ message, next }: { message: string; next?: string | undefined }): string {
  return formatError({ message: message.replace(/\n(?! {2}\S)/g, '\\n'), next: next?.replaceAll('\n', '\\n') });
}
