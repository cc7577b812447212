/** The pools of `-f`, as declared in the files. */
import { showNote } from '../../../cli/errors.ts';
import type { InputOptions } from '../../../cli/input.ts';
import type { Io } from '../../../cli/io.ts';
import type { InputDocument } from '../../../cli/yaml.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';
import { isObject } from '../../../nodepool/json.ts';
import { decodePool, withoutServerFields } from '../../../nodepool/spec/coerce.ts';
import { fieldErrors } from '../../../nodepool/spec/field-error.ts';
import { validatePool } from '../../../nodepool/spec/validation.ts';
import { suggest } from '../../../nodepool/text.ts';
import { API_VERSION, GROUP, type NodePool } from '../../../nodepool/types.ts';
import { sanitizeLine } from '../../../print/sanitize.ts';
import type { DeclaredPool } from '../changes/applied.ts';

/** Throws an input error that names the document and each invalid field. */
export function declaredPool({ value, source, placeOf }: InputDocument, io: Io): NodePool {
  const pool = decodePool(value, source, placeOf);
  const { namespace } = pool.metadata;
  if (namespace !== undefined) {
    const place = placeOf('metadata.namespace');
    const namespaceField = `metadata.namespace "${sanitizeLine(namespace)}"`;
    showNote(io, `note: ${place}: ${namespaceField} is ignored: pools are cluster-scoped`);
  }
  return withoutServerFields(pool);
}

/**
 * All pools in the files, which must be valid. Objects of other API groups, which folders of manifests contain, are
 * skipped with a note. Throws one error with every invalid document.
 */
export async function readDeclared(files: string[], io: Io, options: InputOptions): Promise<DeclaredPool[]> {
  const { readInput } = await import('../../../cli/input.ts');
  const documents = await readInput(files, io, options);
  const errors: NodepoolError[] = [];
  const pools = new Map<string, DeclaredPool>();
  for (const document of documents) {
    const { value, source, placeOf } = document;
    if (isOfOthers(value)) {
      const { kind, apiVersion } = value;
      showNote(io, `note: ${source}: ${sanitizeLine(`${kind} of ${apiVersion}`)} is not a NodePool and is ignored`);
      continue;
    }
    try {
      const pool = declaredPool(document, io);
      const wrong = validatePool(pool);
      if (wrong.length > 0) throw fieldErrors(source, wrong, placeOf);
      const { name } = pool.metadata;
      const first = pools.get(name)?.source;
      if (first !== undefined)
        throw new NodepoolError('input', `${source}: pool ${name} is also in ${first}`, 'remove one of the two');
      pools.set(name, { pool, source });
    } catch (error) {
      if (!(error instanceof NodepoolError)) throw error;
      errors.push(error);
    }
  }
  const [only, ...more] = errors;
  if (only !== undefined && more.length === 0) throw only;
  if (only !== undefined) {
    const items = errors.flatMap(({ lines }) => lines);
    throw new NodepoolError('input', `${errors.length} documents are not valid:`, only.next, { items });
  }
  if (pools.size > 0) return [...pools.values()];
  throw new NodepoolError(
    'input',
    `${files.join(', ')}: contains no NodePool`,
    `start a NodePool with apiVersion: ${API_VERSION}`,
  );
}

/** An object of another API group, even a NodePool of Karpenter or HyperShift. A misspelt kind of ours is an error. */
function isOfOthers(value: unknown): value is Record<string, unknown> {
  if (!isObject(value) || typeof value.apiVersion !== 'string' || typeof value.kind !== 'string') return false;
  const [group = ''] = value.apiVersion.split('/');
  return group !== GROUP && (value.kind !== 'NodePool' || suggest(group, [GROUP]) === undefined);
}
