import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseWaitCondition } from '../../../../src/commands/wait/command.ts';
import { currentText, isMet } from '../../../../src/commands/wait/run.ts';
import type { Condition, NodePool, NodePoolStatus } from '../../../../src/nodepool/types.ts';

const pool = (status: NodePoolStatus | undefined, generation = 2): NodePool => ({
  apiVersion: 'nodes.lailin.xyz/v1',
  kind: 'NodePool',
  metadata: { name: 'p', generation },
  spec: {},
  ...(status === undefined ? {} : { status }),
});
const good = { status: 200, nodeCount: 3, readyNodeCount: 2, observedGeneration: 2 };
const { observedGeneration: _, ...unobserved } = good;

function withCondition(status: 'True' | 'False', generation: number | undefined): NodePoolStatus {
  const rest = { lastTransitionTime: '2026-01-01T00:00:00Z', reason: 'R', message: '' };
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  return { ...good, conditions: [{ type: 'Ready', status, ...rest, ...observed } as Condition] };
}

describe('whether a condition is met', () => {
  for (const [condition, of, expected] of [
    ['status=200', pool(good), true],
    ['status=503', pool(good), false],
    ['nodes=3', pool(good), true],
    ['nodes=2', pool(good), false],
    ['ready=2', pool(good), true],
    ['ready=3', pool(good), false],
    ['delete', pool(good), false],
    ['status=200', pool(undefined), false],
    ['status=200', pool(good, 3), false],
    ['status=200', pool(unobserved), true],
    ['create', pool(undefined), true],
    ['condition=Ready', pool(undefined), false],
    ['condition=Ready', pool(withCondition('True', 2)), true],
    ['condition=ready=TRUE', pool(withCondition('True', 2)), true],
    ['condition=Ready=False', pool(withCondition('True', 2)), false],
    ['condition=Applied', pool(withCondition('True', 2)), false],
    // As kubectl: the generation of the condition, or else of the status.
    ['condition=Ready', pool(withCondition('True', 1)), false],
    ['condition=Ready', pool({ ...withCondition('True', 2), observedGeneration: 1 }), true],
    ['condition=Ready', pool(withCondition('True', undefined), 3), false],
    ['jsonpath={.status.nodeCount}=3', pool(good), true],
    ['jsonpath=.status.nodeCount=3', pool(good, 3), true],
    [`jsonpath='{.status.nodeCount}'="3"`.replaceAll(`'`, ''), pool(good), true],
    ['jsonpath={.status.nodeCount}=4', pool(good), false],
    ['jsonpath={.status.nodeCount}', pool(good), true],
    ['jsonpath={.status.none}', pool(good), false],
    ['jsonpath={.status.conditions[?(@.type=="Ready")].status}=True', pool(withCondition('True', 2)), true],
  ] as const) {
    test(`${condition} of ${JSON.stringify(of.status)} at generation ${of.metadata.generation}: ${expected}`, async () => {
      assert.equal(isMet(await parseWaitCondition(condition), of), expected);
    });
  }
});

describe('describes the state of a pool that misses the condition', () => {
  for (const [condition, of, expected] of [
    ['status=503', pool(good), 'status.status is 200'],
    ['nodes=2', pool(good), 'status.nodeCount is 3'],
    ['ready=2', pool(undefined), 'status.readyNodeCount is not set'],
    ['status=200', pool(good, 3), 'status.status is 200, of generation 2; the spec has generation 3'],
    ['condition=ready', pool(withCondition('False', 2)), 'condition Ready is False (R)'],
    [
      'condition=Ready',
      pool(withCondition('True', 1)),
      'condition Ready is True (R), of generation 1; the spec has generation 2',
    ],
    ['condition=Nope', pool(good), 'it has no condition Nope'],
    ['jsonpath={.status.nodeCount}=4', pool(good), '{.status.nodeCount} is 3'],
    ['jsonpath=.status.none', pool(good), '.status.none is not set'],
    ['delete', pool(good), undefined],
  ] as const) {
    test(`${condition}: ${expected}`, async () => {
      assert.equal(currentText(await parseWaitCondition(condition), of), expected);
    });
  }
});

for (const [path, message] of [
  ['{.metadata}=a', 'jsonpath leads to a nested object or list which is not supported'],
  ['{.metadata.*}', 'given jsonpath expression matches more than one value'],
] as const) {
  test(`jsonpath=${path} is an error`, async () => {
    const condition = await parseWaitCondition(`jsonpath=${path}`);
    assert.throws(() => isMet(condition, pool(good)), { kind: 'input', message: `--for=jsonpath: ${message}` });
  });
}
