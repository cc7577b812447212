/** The specification of `custom-columns`: headers, and a path for each. */
import { relaxedTemplate } from './parse.ts';
import { checkTemplateLength, JsonPathError, type Template } from './template.ts';

export interface Column {
  header: string;
  template: Template;
}

/**
 * `NAME:.metadata.name,STATUS:.status.status`. As with kubectl, a path cannot contain a comma.
 * @throws JsonPathError
 */
export function parseColumns(spec: string): Column[] {
  checkTemplateLength(spec);
  return spec.split(',').map(part => {
    const colon = part.indexOf(':');
    if (colon < 0) {
      throw new JsonPathError(`unexpected custom-columns spec: ${part}, expected <header>:<json-path-expr>`);
    }
    return { header: part.slice(0, colon), template: relaxedTemplate(part.slice(colon + 1)) };
  });
}

/**
 * A line of headers and a line of paths, separated by spaces.
 * @throws JsonPathError
 */
export function parseColumnsFile(text: string): Column[] {
  checkTemplateLength(text);
  // A newline at the end does not begin a second line.
  const lines = text.replace(/\n$/, '').split('\n', 2);
  const [headers, paths] = lines.map(line => line.split(/\s+/).filter(word => word !== ''));
  if (text === '' || headers === undefined) throw incomplete('header');
  if (paths === undefined) throw incomplete('spec');
  if (headers.length !== paths.length) {
    throw new JsonPathError(
      `number of headers (${headers.length}) and field specifications (${paths.length}) don't match`,
    );
  }
  return headers.map((header, index) => ({ header, template: relaxedTemplate(paths[index] ?? '') }));
}

function incomplete(line: string): JsonPathError {
  return new JsonPathError(
    `invalid template, missing ${line} line. Expected format is one line of space separated headers, one line of space separated column specs.`,
  );
}
