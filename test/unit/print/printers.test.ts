import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printJson, printObjects, printYaml } from '../../../src/print/printers.ts';

const worker = {
  kind: 'NodePool',
  apiVersion: 'nodes.lailin.xyz/v1',
  spec: { taints: [{ key: 'node-pool', value: 'worker', effect: 'NoSchedule' }], labels: { on: 'yes' } },
  metadata: { name: 'worker', managedFields: [{ manager: 'kubectl' }], annotations: { note: '<a & b>' } },
  status: { status: 200, allocatable: {}, conditions: [] },
};

test('prints one object as YAML', () => {
  const want = `apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata:
  annotations:
    note: <a & b>
  name: worker
spec:
  labels:
    "on": "yes"
  taints:
  - effect: NoSchedule
    key: node-pool
    value: worker
status:
  allocatable: {}
  conditions: []
  status: 200`;
  assert.equal(printObjects([worker], 'yaml', false), want);
  assert.equal(printYaml(worker), `${want}\n`);
});

test('prints one object as JSON: four spaces, sorted, HTML escaped, without managedFields', () => {
  assert.equal(
    printObjects([worker], 'json', false),
    `{
    "apiVersion": "nodes.lailin.xyz/v1",
    "kind": "NodePool",
    "metadata": {
        "annotations": {
            "note": "\\u003ca \\u0026 b\\u003e"
        },
        "name": "worker"
    },
    "spec": {
        "labels": {
            "on": "yes"
        },
        "taints": [
            {
                "effect": "NoSchedule",
                "key": "node-pool",
                "value": "worker"
            }
        ]
    },
    "status": {
        "allocatable": {},
        "conditions": [],
        "status": 200
    }
}`,
  );
});

test('prints several objects, or a list with one or none, as a List', () => {
  const list = 'apiVersion: v1\nitems: []\nkind: List\nmetadata:\n  resourceVersion: ""';
  assert.equal(printObjects([], 'yaml', true), list);
  const items = [{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }];
  for (const asList of [true, false]) {
    assert.equal(
      printObjects(items, 'yaml', asList),
      list.replace(' []', '\n- metadata:\n    name: a\n- metadata:\n    name: b'),
    );
  }
  assert.deepEqual(JSON.parse(printObjects(items.slice(0, 1), 'json', true)), {
    apiVersion: 'v1',
    kind: 'List',
    metadata: { resourceVersion: '' },
    items: items.slice(0, 1),
  });
});

test('prints names', () => {
  const items = [{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }];
  assert.equal(printObjects(items, 'name', true), 'nodepool.nodes.lailin.xyz/a\nnodepool.nodes.lailin.xyz/b');
});

test('sorts keys that look like numbers as text in JSON', () => {
  assert.equal(
    printJson({ b: 1, 9: 1, 10: 1, '-': 1, u: undefined }),
    '{\n    "-": 1,\n    "10": 1,\n    "9": 1,\n    "b": 1\n}',
  );
});

test('escapes terminal control characters in both', () => {
  const object = { metadata: { name: 'a', labels: { x: '\u202e\x9b' } } };
  assert.equal(JSON.parse(printObjects([object], 'json', false)).metadata.labels.x, '\u202e\x9b');
  for (const format of ['json', 'yaml'] as const) {
    assert.doesNotMatch(printObjects([object], format, false), /[\u202e\x9b]/);
  }
});
