/** What a server says of fields that it does not know, where it was asked to be strict about them. */
import { isPoolField } from '../../nodepool/dropped-fields.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { NODE_POOLS, type Resource } from './resource.ts';

/**
 * Undefined when it is refused for another reason. The server refuses a create with 400, and a patch with 422 and the
 * whole object in front. @param cannot what was refused, as `cannot create NodePool "a"`
 */
export function unknownFields(resource: Resource, cannot: string, reason: string): NodepoolError | undefined {
  const fields = /strict decoding error: (.*)$/s.exec(reason)?.[1];
  if (fields === undefined) return undefined;
  const unknown = resource === NODE_POOLS ? [...fields.matchAll(/unknown field "([^"]*)"/g)] : [];
  if (unknown.some(([, path = '']) => isPoolField(path))) {
    const text = `${cannot}: the CRD nodepools.nodes.lailin.xyz is of another version: ${fields}`;
    return new NodepoolError('cluster', text, 'run `kubectl nodepool install`');
  }
  return new NodepoolError('input', `${cannot}: ${fields}`, 'correct or remove that field');
}
