import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objectStream } from '../../../src/render/object-stream.ts';

const [a, b] = ['a', 'b'].map(name => ({ kind: 'NodePool', metadata: { name, managedFields: [] } }));

function lines(format: 'json' | 'yaml' | 'name'): string {
  const print = objectStream(format, false);
  assert.ok(a !== undefined && b !== undefined);
  return [a, b, a].map(object => print(object, 'ADDED')).join('\n');
}

test('YAML documents have a line between them', () => {
  const document = (name: string) => `kind: NodePool\nmetadata:\n  name: ${name}`;
  assert.equal(lines('yaml'), [document('a'), document('b'), document('a')].join('\n---\n'));
});

test('JSON objects follow each other, in no list', () => {
  const object = (name: string) => `{
    "kind": "NodePool",
    "metadata": {
        "name": "${name}"
    }
}`;
  assert.equal(lines('json'), [object('a'), object('b'), object('a')].join('\n'));
});

test('names', () => {
  assert.equal(lines('name').replaceAll('nodepool.nodes.lailin.xyz/', ''), 'a\nb\na');
});

test('as events: JSON in one line each, YAML with the object below; kubectl leaves managedFields in them', () => {
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
