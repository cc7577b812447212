/** What `custom-columns` is given: headers, and for each the path of what stands below it. */
import { relaxedTemplate } from './relaxed.ts';
import { checkTemplateLength, JsonPathError, type Template } from './template.ts';

export interface Column {
  header: string;
  template: Template;
}

/**
 * `NAME:.metadata.name,STATUS:.status.status`. A path has no comma in it, as for kubectl.
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
 * A line of headers and a line of paths, between spaces.
 * @throws JsonPathError
 */
export function parseColumnsFile(text: string): Column[] {
  checkTemplateLength(text);
  // The newline that ends the first line begins no second one.
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
