import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printTop, topCsv } from '../../../../../src/commands/shared/top/top-data.ts';
import { renderPoolResources } from '../../../../../src/commands/top/print.ts';
import { plain } from '../../../print/fixtures.ts';
import { MEASURED, SHOWN } from '../../top/print-fixtures.ts';
import { demandOf, topCluster, topOf } from './top-cluster.ts';

test('JSON: prints exact quantities with numbers', async () => {
  const top = await topOf(topCluster(MEASURED), { resources: ['memory', 'pods'] });
  const { pools, unassigned, total, nodes } = JSON.parse(printTop(top, 'pools', 'json'));
  assert.deepEqual(pools[2], {
    name: 'worker',
    nodeCount: 3,
    schedulableNodeCount: 2,
    resources: {
      memory: {
        allocatable: { quantity: '9193560Ki', value: 9_414_205_440 },
        requested: { quantity: '1124Mi', value: 1_178_599_424 },
        limits: { quantity: '2Gi', value: 2_147_483_648 },
        used: { quantity: '500Mi', value: 524_288_000 },
        free: { quantity: '4978064Ki', value: 5_097_537_536 },
        maxFree: { quantity: '2962120Ki', value: 3_033_210_880 },
        requestedPercent: 12.52,
        limitsPercent: 22.81,
        usedPercent: 16.71,
      },
      pods: {
        allocatable: { quantity: '330', value: 330 },
        requested: { quantity: '16', value: 16 },
        free: { quantity: '205', value: 205 },
        maxFree: { quantity: '107', value: 107 },
        requestedPercent: 4.85,
      },
    },
  });
  assert.deepEqual([unassigned.nodeCount, total.nodeCount, nodes], [1, 6, undefined]);
});

test('JSON: prints nodes, without unknown values', async () => {
  const top = await topOf(topCluster(), { nodes: true, pods: false, resources: ['cpu'] });
  const { nodes } = JSON.parse(printTop(top, 'nodes', 'json'));
  assert.deepEqual(nodes[1], {
    name: 'g2',
    pool: 'gpu',
    ready: false,
    unschedulable: false,
    resources: { cpu: { allocatable: { quantity: '15820m', value: 15.82 } } },
  });
  assert.equal('pool' in nodes[5], false);
});

test('prints huge amounts exactly in data, cut in the table, without percentage', async () => {
  const top = await topOf(topCluster({ demand: { w1: demandOf(1, { cpu: `1${'0'.repeat(400)}` }) } }), {
    names: ['worker'],
    resources: ['cpu'],
  });
  const { requested, requestedPercent } = JSON.parse(printTop(top, 'pools', 'json')).pools[0].resources.cpu;
  assert.deepEqual([requested.value, requestedPercent], [undefined, undefined]);
  assert.equal(BigInt(requested.quantity.replace(/E$/, '0'.repeat(18))), 10n ** 400n);
  assert.match(
    renderPoolResources(top, SHOWN, plain),
    /^worker {2}2\/3 {4}cpu {7}12 {5}10{22}… {2}<none> {2}0 {7}4 {5}4$/m,
  );
  assert.match(topCsv(top, { rows: 'pools', headers: false }), /^worker,3,2,cpu,12,12,10{382}E,,0,0,/);
});

test('prints CSV of pools', async () => {
  const top = await topOf(topCluster(MEASURED), { resources: ['cpu'] });
  assert.equal(
    topCsv(top, { rows: 'pools', headers: true }),
    `
pool,nodes,schedulableNodes,resource,allocatable,allocatableValue,requested,requestedValue,limits,limitsValue,used,usedValue,free,freeValue,requestedPercent,limitsPercent,usedPercent,maxFree,maxFreeValue
empty,0,0,cpu,0,0,0,0,0,0,,,0,0,,,,0,0
gpu,2,1,cpu,31640m,31.64,8,8,0,0,9500m,9.5,7820m,7.82,25.28,0,60.05,7820m,7.82
worker,3,2,cpu,12,12,9900m,9.9,6,6,123456789n,0.123456789,100m,0.1,82.5,50,3.09,100m,0.1
,1,1,cpu,4,4,0,0,0,0,,,4,4,0,0,,4,4`.slice(1),
  );
});

test('prints CSV of nodes', async () => {
  const top = await topOf(topCluster(), { nodes: true, names: ['worker'], resources: ['pods'] });
  assert.equal(
    topCsv(top, { rows: 'nodes', headers: false }),
    `
w1,worker,true,pods,110,110,12,12,,,,,98,98,10.91,,,98,98
w2,worker,true,pods,110,110,3,3,,,,,107,107,2.73,,,107,107
w3,worker,false,pods,110,110,1,1,,,,,0,0,0.91,,,0,0`.slice(1),
  );
});
