/** Reads the imports of a module from its text. */
const FROM = /^(?:import|export)\b(\s+type\b)?[^;'"`]*?\bfrom\s*['"]([^'"]+)['"]/gm;
const BARE = /^import\s*['"]([^'"]+)['"]/gm;
const DYNAMIC = /\bimport\(\s*(?:['"`]([^'"`$]+)['"`]\s*\))?/g;

export interface Import {
  specifier: string;
  kind: 'value' | 'type' | 'dynamic';
}

/** Every import and re-export of a module. It relies on statements, and no comments, starting at the line start. */
export function importsOf(source: string): Import[] {
  const found: Import[] = [];
  for (const [, typed, specifier = ''] of source.matchAll(FROM))
    found.push({ specifier, kind: typed ? 'type' : 'value' });
  for (const [, specifier = ''] of source.matchAll(BARE)) found.push({ specifier, kind: 'value' });
  for (const { 1: specifier = '', index } of source.matchAll(DYNAMIC)) {
    const before = source.slice(source.lastIndexOf('\n', index) + 1, index);
    if (!/^\s*\*|\/\/|\/\*/.test(before)) found.push({ specifier, kind: 'dynamic' });
  }
  return found;
}
