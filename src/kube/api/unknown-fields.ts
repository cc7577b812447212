/** Refusals of unknown fields, with fieldValidation=Strict. */

import { NodepoolError } from '../../nodepool/errors.ts';
import { isPoolField } from '../../nodepool/spec/dropped-fields.ts';
import { NODE_POOLS, type Resource } from './resource.ts';

/**
 * Undefined for another reason. The status is 400 for a create, 422 for a patch, where the object precedes the message.
 * @param cannot the request, as `cannot create NodePool "a"`
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
