import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseSortKey, type TopDeps, type TopOptions, top } from '../../../../../src/commands/shared/top/top.ts';
import type { NodepoolError } from '../../../../../src/nodepool/errors.ts';
import { PLAIN, topCluster, topOf } from './top-cluster.ts';

const names = (rows: readonly { pool: string | undefined }[]) => rows.map(({ pool }) => pool ?? '<none>').join(' ');

describe('sorting', () => {
  async function sorted(key: string, options: { nodes?: boolean; pods?: boolean } = {}): Promise<string> {
    const { pools, nodes } = await topOf(topCluster(), { ...options, sortBy: key });
    return options.nodes ? nodes.map(({ node }) => node.name).join(' ') : names(pools);
  }

  test('sorts by name, nodes and resources: largest first, unknown last', async () => {
    assert.equal(await sorted('name'), 'empty gpu worker <none>');
    assert.equal(await sorted('nodes'), 'worker gpu <none> empty');
    assert.equal(await sorted('cpu'), 'worker gpu <none> empty');
    assert.equal(await sorted('cpu.percent'), 'worker gpu <none> empty');
    assert.equal(await sorted('cpu.free'), 'gpu <none> worker empty');
    assert.equal(await sorted('memory.requested'), 'gpu worker empty <none>');
    assert.equal(await sorted('nvidia.com/gpu.free'), 'gpu empty worker <none>');
    assert.equal(await sorted('cpu', { nodes: true }), 'w2 w1 g1 w3 g2 cp');
    assert.equal(await sorted('pods.limits', { nodes: true }), 'g1 g2 w1 w2 w3 cp');
    assert.equal(await sorted('memory', { pods: false }), 'gpu worker <none> empty');
  });

  test('refuses an unknown key', async () => {
    const refused = (key: string, message: RegExp, pods = true) =>
      assert.throws(
        () => parseSortKey(key, ['cpu', 'nvidia.com/gpu'], pods),
        (error: NodepoolError) => error.kind === 'usage' && message.test(error.message),
      );
    refused('cpuu', /"cpuu" is not shown; did you mean "cpu"\?/);
    refused('memory', /"memory" is not shown$/);
    refused('cpu.most', /"most" is not a measure/);
    refused('nvidia.com/gpu.', /"" is not a measure/);
    refused('cpu.free', /free is unknown with --no-pods/, false);
    refused('', /"" is not shown/);
  });
});

test('refuses an unknown sort key before any read', async () => {
  const refused = (options: Partial<TopOptions>, message: RegExp) =>
    assert.rejects(top({ ...PLAIN, ...options }, {} as TopDeps), { message });
  await refused({ sortBy: 'cpuu' }, /^--sort-by: "cpuu" is not shown; did you mean "cpu"\?$/);
  await refused({ sortBy: 'cpu.fre' }, /^--sort-by: "fre" is not a measure$/);
  await refused({ sortBy: 'cpu', resources: ['memory'] }, /^--sort-by: "cpu" is not shown/);
  const read = (options: Partial<TopOptions>) =>
    assert.rejects(top({ ...PLAIN, ...options }, {} as TopDeps), TypeError);
  await read({ sortBy: 'nvidia.com/gpu.free' });
  await read({ sortBy: 'example.com/fuse', resources: 'all' });
});

test('refuses keys that pods do not have', async () => {
  const PODS = { ...PLAIN, eachPod: true };
  for (const sortBy of ['cpu.free', 'cpu.maxFree', 'nodes', 'pods', 'pods.requested']) {
    await assert.rejects(top({ ...PODS, sortBy }, {} as TopDeps), {
      kind: 'usage',
      message: `--sort-by: pods have no "${sortBy}"`,
    });
  }
  for (const sortBy of ['name', 'cpu', 'cpu.requested', 'memory.used']) {
    await assert.rejects(top({ ...PODS, sortBy }, {} as TopDeps), TypeError);
  }
});
