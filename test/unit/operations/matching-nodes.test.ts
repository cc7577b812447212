import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import { matchingNodes } from '../../../src/operations/matching-nodes.ts';
import { aPool } from '../nodepool/fixtures.ts';

test('counts the nodes of pools without a status only, by their selector; an empty selector matches none', async () => {
  const asked: string[] = [];
  const countNodes = async (selector: string) => {
    asked.push(selector);
    if (selector === 'a=refused') throw new NodepoolError('cluster', 'cannot list nodes');
    return 3;
  };
  const pools = [
    { ...aPool({}, { name: 'done' }), status: { status: 200, nodeCount: 1 } },
    aPool({}, { name: 'default' }),
    aPool({ nodeSelector: { a: 'b', c: '' } }, { name: 'two' }),
    aPool({ nodeSelector: {} }, { name: 'none' }),
    aPool({ nodeSelector: { a: 'refused' } }, { name: 'refused' }),
  ];
  assert.deepEqual(
    [...(await matchingNodes(pools, { countNodes }))],
    [
      ['default', 3],
      ['two', 3],
      ['none', 0],
    ],
  );
  assert.deepEqual(asked, ['node-role.kubernetes.io/default=', 'a=b,c=', 'a=refused']);
});
