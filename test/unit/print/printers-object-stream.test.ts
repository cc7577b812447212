import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objectStream } from '../../../src/print/printers.ts';

const [a, b] = ['a', 'b'].map(name => ({ kind: 'NodePool', metadata: { name, managedFields: [] } }));

function lines(format: 'json' | 'yaml' | 'name'): string {
  const print = objectStream(format, false);
  assert.ok(a !== undefined && b !== undefined);
  return [a, b, a].map(object => print(object, 'ADDED')).join('\n');
}

test('separates YAML documents with a line', () => {
  const document = (name: string) => `kind: NodePool\nmetadata:\n  name: ${name}`;
  assert.equal(lines('yaml'), [document('a'), document('b'), document('a')].join('\n---\n'));
});

test('prints JSON objects one after the other, without a list', () => {
  const object = (name: string) => `{
    "kind": "NodePool",
    "metadata": {
        "name": "${name}"
    }
}`;
  assert.equal(lines('json'), [object('a'), object('b'), object('a')].join('\n'));
});

test('prints names', () => {
  assert.equal(lines('name').replaceAll('nodepool.nodes.lailin.xyz/', ''), 'a\nb\na');
});

test('prints watch events: JSON on one line each, YAML with the object below', () => {
  assert.ok(a !== undefined && b !== undefined);
  const [json, yaml, name] = (['json', 'yaml', 'name'] as const).map(format => objectStream(format, true));
  assert.equal(
    json?.(a, 'ADDED'),
    '{"type":"ADDED","object":{"kind":"NodePool","metadata":{"managedFields":[],"name":"a"}}}',
  );
  const document = (of: string, type: string) =>
    `object:\n  kind: NodePool\n  metadata:\n    managedFields: []\n    name: ${of}\ntype: ${type}`;
  assert.equal(yaml?.(a, 'ADDED'), document('a', 'ADDED'));
  assert.equal(yaml?.(b, 'DELETED'), `---\n${document('b', 'DELETED')}`);
  assert.equal(name?.(a, 'MODIFIED'), 'nodepool.nodes.lailin.xyz/a');
});
