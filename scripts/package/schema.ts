/** The JSON schema of a NodePool, for editors and for checks of YAML files without a cluster: from the CRD. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import pjson from '../../package.json' with { type: 'json' };
import { ROOT } from '../root.ts';

export const SCHEMA_FILE = `nodepool-${pjson.version}.schema.json`;

/** A schema of a CRD, as far as it is read here. */
export interface CrdSchema {
  type?: string;
  description?: string;
  properties?: Record<string, CrdSchema>;
  items?: CrdSchema;
  additionalProperties?: CrdSchema;
  required?: string[];
  enum?: string[];
  [keyword: string]: unknown;
}

/** The schema of the version that is stored. */
export function crdSchema(): CrdSchema {
  const crd = load(readFileSync(join(ROOT, 'manifests/nodepools.nodes.lailin.xyz.yaml'), 'utf8')) as {
    spec: { versions: { storage: boolean; schema: { openAPIV3Schema: CrdSchema } }[] };
  };
  const version = crd.spec.versions.find(({ storage }) => storage);
  if (version === undefined) throw new Error('the CRD has no stored version');
  return version.schema.openAPIV3Schema;
}

/** Strict where the API server drops fields, so that an editor marks a misspelt one. CEL rules are left to the server. */
export function jsonSchema(): string {
  const schema = strict(crdSchema());
  return `${JSON.stringify(
    {
      $schema: 'http://json-schema.org/draft-07/schema#',
      title: 'NodePool, nodes.lailin.xyz/v1',
      ...schema,
      properties: {
        ...(schema.properties as object),
        apiVersion: { const: 'nodes.lailin.xyz/v1' },
        kind: { const: 'NodePool' },
        metadata: { type: 'object', required: ['name'] },
      },
      required: ['apiVersion', 'kind', 'metadata'],
    },
    null,
    2,
  )}\n`;
}

function strict({ properties, items, additionalProperties, ...schema }: CrdSchema): Record<string, unknown> {
  const own = Object.entries(schema).filter(([keyword]) => !keyword.startsWith('x-kubernetes-'));
  return {
    ...Object.fromEntries(own),
    ...(schema['x-kubernetes-int-or-string'] === true && { type: ['integer', 'string'] }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, strict(field)])),
      additionalProperties: false,
    }),
    ...(items !== undefined && { items: strict(items) }),
    ...(additionalProperties !== undefined && { additionalProperties: strict(additionalProperties) }),
  };
}
