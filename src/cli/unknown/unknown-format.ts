/** What to write in place of an output format that a command does not have; one wording for all commands. */

const TEMPLATES = ['go-template', 'go-template-file', 'template', 'templatefile'];

export function unknownFormat(format: string): string {
  return `unknown output format "${format.split('=', 1)[0]}"`;
}

/** Completes "next: ". @param formats that the command has */
export function formatNext(format: string, formats: readonly string[]): string {
  const use = formats.length === 1 ? `the only one is ${formats[0]}` : `use one of ${formats.join(', ')}`;
  const hint = hintFor(format, formats);
  return hint === undefined ? use : `${use}; ${hint}`;
}

function hintFor(format: string, formats: readonly string[]): string | undefined {
  const [kind = ''] = format.split('=', 1);
  if (TEMPLATES.includes(kind) && formats.includes('jsonpath=')) return 'jsonpath= takes templates, as in kubectl';
  if ([...TEMPLATES, 'kyaml'].includes(kind) || /^(jsonpath|custom-columns)/.test(kind)) {
    return formats.includes('json') ? 'for single fields, pipe -o json to jq' : undefined;
  }
  if (kind === 'wide') return 'leave out -o for the table';
  return kind === 'name' ? '`kubectl nodepool get -o name` prints the names of pools' : undefined;
}
