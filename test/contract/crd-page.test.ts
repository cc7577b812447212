/** docs/reference.md is written from the CRD: UPDATE_PAGES=1 npm test -- contract/crd. So is the JSON schema of a release. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type CrdSchema, crdSchema, jsonSchema } from '../../scripts/package/schema.ts';
import { ROOT } from '../../scripts/root.ts';

const PAGE = join(ROOT, 'docs/reference.md');
/** The API server has texts of its own for these. */
const STANDARD = ['apiVersion', 'kind', 'metadata', 'metadata.name'];

/** Each field with its path, as `kubectl explain --recursive` walks them. */
function fields(schema: CrdSchema, path = ''): [path: string, schema: CrdSchema][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const own = path === '' ? name : `${path}.${name}`;
    const inner = field.items === undefined ? fields(field, own) : fields(field.items, `${own}[]`);
    return [[own, field] as [string, CrdSchema], ...inner];
  });
}

function typeOf(schema: CrdSchema): string {
  const { type, items, additionalProperties } = schema;
  if (schema['x-kubernetes-int-or-string']) return 'integer or string';
  if (items !== undefined) return `list of ${typeOf(items)}`;
  if (additionalProperties === undefined) return type ?? '';
  return `map of ${additionalProperties['x-kubernetes-int-or-string'] ? 'quantity' : typeOf(additionalProperties)}`;
}

const documented = fields(crdSchema()).filter(([path]) => !STANDARD.includes(path));

test('every field has a text for kubectl explain', () => {
  assert.ok(documented.length > 20);
  for (const [path, { description }] of documented) assert.match(description ?? '', /\w.*[.]$/s, path);
});

test('docs/reference.md lists every field', () => {
  const rows = documented.map(([path, field]) => {
    const values = field.enum === undefined ? '' : ` One of ${field.enum.map(value => `\`${value}\``).join(', ')}.`;
    const text = `${field.description?.replaceAll(/\s+/g, ' ')}${values}`.replaceAll('|', '\\|');
    return `| \`${path}\` | ${typeOf(field)} | ${text.replaceAll(/<(\w+)>/g, '`<$1>`')} |`;
  });
  const table = ['| field | type | what it is |', '| --- | --- | --- |', ...rows].join('\n');
  const page = readFileSync(PAGE, 'utf8');
  const expected = page.replace(
    /<!-- fields -->\n[\s\S]*?<!-- end -->\n/,
    () => `<!-- fields -->\n${table}\n<!-- end -->\n`,
  );
  if (process.env.UPDATE_PAGES) writeFileSync(PAGE, expected);
  else assert.equal(page, expected);
});

test('the JSON schema has the fields of the CRD, no Kubernetes keyword, and refuses other fields', () => {
  const text = jsonSchema();
  const schema = JSON.parse(text) as CrdSchema;
  assert.doesNotMatch(text, /x-kubernetes-/);
  assert.deepEqual(
    fields(schema)
      .map(([path]) => path)
      .filter(path => !STANDARD.includes(path)),
    documented.map(([path]) => path),
  );
  assert.equal(schema.properties?.spec?.additionalProperties, false);
  assert.deepEqual(schema.properties?.apiVersion, { const: 'nodes.lailin.xyz/v1' });
});
