import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchingNodes } from '../../../../../src/commands/shared/pools/load-cluster-state.ts';
import { NodepoolError } from '../../../../../src/nodepool/errors.ts';
import { aPool } from '../../../nodepool/fixtures.ts';

const DONE = { ...aPool({}, { name: 'done' }), status: { status: 200, nodeCount: 1 } };
const NONE = aPool({ nodeSelector: {} }, { name: 'none' });
const TWO = aPool({ nodeSelector: { a: 'b', c: '' } }, { name: 'two' });

async function counted(pools: Parameters<typeof matchingNodes>[0], nodes: Record<string, string>[] | NodepoolError) {
  const asked: (string | undefined)[] = [];
  const nodeLabels = async (selector?: string) => {
    asked.push(selector);
    if (nodes instanceof NodepoolError) throw nodes;
    return nodes.map((labels, at) => ({ name: `n${at}`, labels }));
  };
  return { counts: Object.fromEntries(await matchingNodes(pools, { nodeLabels })), asked };
}

test('counts the nodes of a pool without a status by its selector, unless that is invalid', async () => {
  const nodes = [{ a: 'b', c: '' }];
  assert.deepEqual(await counted([DONE, NONE, TWO], nodes), { counts: { two: 1 }, asked: ['a=b,c='] });
  assert.deepEqual(await counted([DONE, NONE], nodes), { counts: {}, asked: [] });
});

test('lists the nodes once for any number of pools without a status', async () => {
  const pools = Array.from({ length: 50 }, (_, i) => aPool({}, { name: `p${i}` }));
  const nodes = [{ a: 'b', c: '' }, { a: 'b' }, { 'node-role.kubernetes.io/p7': '', a: 'b', c: '' }];
  const { counts, asked } = await counted([DONE, TWO, ...pools], nodes);
  assert.deepEqual([asked, counts.two, counts.p7, counts.p8, Object.keys(counts).length], [[undefined], 2, 1, 0, 51]);
});

test('leaves out what may not be counted', async () => {
  const refused = new NodepoolError('cluster', 'cannot list nodes');
  assert.deepEqual((await counted([NONE, TWO], refused)).counts, {});
});
