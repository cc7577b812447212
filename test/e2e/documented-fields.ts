/** The fields of docs/commands/output.md, compared with real output. */

export interface Field {
  /** As `items[].name`. */
  path: string;
  isOptional: boolean;
}

/** By kind: the fields in the table below each `### Kind`, several in a row; those of a Change in place of its path. */
export function fieldsOf(page: string): Map<string, Field[]> {
  const sections = page.split(/^### /m).slice(1);
  const tables = sections.map((section): [string, { path: string; type: string }[]] => {
    const rows = [...section.matchAll(/^\| `([^|]+)` \| ([^|]+) \|/gm)];
    const fields = rows.flatMap(([, paths = '', type = '']) =>
      paths.split('`, `').map(path => ({ path, type: type.trim() })),
    );
    return [section.split('\n', 1)[0] ?? '', fields];
  });
  const changes = new Map(tables).get('Change') ?? [];
  const withChanges = (fields: { path: string; type: string }[]) =>
    fields.flatMap(({ path, type }) =>
      type === 'Change' ? changes.map(of => ({ path: `${path}.${of.path}`, type: of.type })) : { path, type },
    );
  return new Map(
    tables.map(([kind, fields]) => [
      kind,
      withChanges(fields).map(({ path, type }) => ({ path, isOptional: type.endsWith('?') })),
    ]),
  );
}

/** The paths in the value down to documented fields, and documented fields that are missing in existing objects. */
export function pathsOf(value: unknown, documented: readonly Field[]): { found: string[]; absent: string[] } {
  const found = new Set<string>();
  const absent = new Set<string>();
  const isKnown = (path: string) => documented.some(field => field.path === path);
  const visit = (at: unknown, path: string) => {
    if (isKnown(path)) found.add(path);
    else if (Array.isArray(at)) for (const item of at) visit(item, `${path}[]`);
    else if (typeof at === 'object' && at !== null) members(at, path);
    else found.add(path);
  };
  const members = (object: object, path: string) => {
    const prefix = path === '' ? '' : `${path}.`;
    for (const [key, member] of Object.entries(object)) visit(member, prefix + key);
    for (const { path: wanted, isOptional } of documented) {
      if (isOptional || !wanted.startsWith(prefix)) continue;
      const [key = ''] = wanted.slice(prefix.length).split(/[.[]/, 1);
      if (!Object.hasOwn(object, key)) absent.add(wanted);
    }
  };
  visit(value, '');
  return { found: [...found], absent: [...absent] };
}
