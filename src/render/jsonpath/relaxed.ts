/** The paths of `--sort-by` and of columns, which need neither braces nor the first dot. */
import { parseTemplate } from './parse.ts';
import { JsonPathError, type Template } from './template.ts';

/**
 * `metadata.name`, `.metadata.name`, `{metadata.name}` and `{.metadata.name}` are all the same.
 * @throws JsonPathError
 */
export function relaxedTemplate(path: string): Template {
  return parseTemplate(relaxedPath(path));
}

/** The path with braces and dot; nothing stays nothing. @throws JsonPathError */
export function relaxedPath(path: string): string {
  if (path === '') return '';
  const inner = /^\{\.?([^{}]+)\}$|^\.?([^{}]+)$/.exec(path);
  if (inner !== null) return `{.${inner[1] ?? inner[2]}}`;
  throw new JsonPathError(
    "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'",
  );
}
