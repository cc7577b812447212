import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseWaitCondition } from '../../../src/commands/wait/condition.ts';
import type { NodePool, NodePoolStatus } from '../../../src/nodepool/types.ts';
import { isMet } from '../../../src/nodepool/wait-condition.ts';

const pool = (status: NodePoolStatus | undefined, generation = 2): NodePool => ({
  apiVersion: 'nodes.lailin.xyz/v1',
  kind: 'NodePool',
  metadata: { name: 'p', generation },
  spec: {},
  ...(status === undefined ? {} : { status }),
});
const good = { status: 200, nodeCount: 3, readyNodeCount: 2, observedGeneration: 2 };
const { observedGeneration: _, ...unobserved } = good;

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
  ] as const) {
    test(`${condition} of ${JSON.stringify(of.status)} at generation ${of.metadata.generation}: ${expected}`, () => {
      assert.equal(isMet(parseWaitCondition(condition), of), expected);
    });
  }
});
