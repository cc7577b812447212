/** The relaxed paths of `--sort-by` and custom columns: braces and the first dot are optional. */
import { parseTemplate } from './parse.ts';
import { JsonPathError, type Template } from './template.ts';

/**
 * `metadata.name`, `.metadata.name`, `{metadata.name}` and `{.metadata.name}` are equal.
 * @throws JsonPathError
 */
export function relaxedTemplate(path: string): Template {
  return parseTemplate(relaxedPath(path));
}

/** The path with braces and dot; '' stays ''. @throws JsonPathError */
export function relaxedPath(path: string): string {
  if (path === '') return '';
  const inner = /^\{\.?([^{}]+)\}$|^\.?([^{}]+)$/.exec(path);
  if (inner !== null) return `{.${inner[1] ?? inner[2]}}`;
  throw new JsonPathError(
    "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'",
  );
}
