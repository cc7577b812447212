/** Limits nesting: printers are recursive, and the API server accepts 10,000 levels in fields without a schema. */
import { NodepoolError } from '../nodepool/errors.ts';
import { isObject } from '../nodepool/json.ts';

/** Maximum levels of objects and lists. YAML input has at most 200. */
const MAX_DEPTH = 500;

interface NestingLevel {
  value: object;
  key: string;
  parent: NestingLevel | undefined;
  depth: number;
}

/** Iterative. Throws NodepoolError (input) with the object and the field. */
export function checkDepth(value: unknown): void {
  const open: NestingLevel[] = [];
  const add = (value: unknown, key: string, parent: NestingLevel | undefined) => {
    if (typeof value === 'object' && value !== null) open.push({ value, key, parent, depth: (parent?.depth ?? 0) + 1 });
  };
  add(value, '', undefined);
  for (let level = open.pop(); level !== undefined; level = open.pop()) {
    if (level.depth > MAX_DEPTH) throw tooDeep(level);
    for (const [key, inner] of Object.entries(level.value)) add(inner, key, level);
  }
}

/** Maximum keys of the path in the message. */
const SHOWN_KEYS = 4;

function tooDeep(deepest: NestingLevel): NodepoolError {
  const path: string[] = [];
  let name: unknown;
  for (let level: NestingLevel | undefined = deepest; level !== undefined && name === undefined; level = level.parent) {
    if (level.key !== '') path.unshift(level.key);
    const { metadata } = level.value as { metadata?: unknown };
    name = isObject(metadata) && typeof metadata.name === 'string' ? metadata.name : undefined;
    if (name !== undefined && level.parent !== undefined) path.shift();
  }
  const where = path.slice(0, SHOWN_KEYS).join('.');
  const what = name === undefined ? where : `${where} of "${name}"`;
  return new NodepoolError(
    'input',
    `cannot print ${what}: objects and lists are nested more than ${MAX_DEPTH} levels deep`,
    'print other fields with -o jsonpath or -o custom-columns',
  );
}
