/** Creating pools when the cluster refuses or labels exist already. The command's output: command-create.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPools } from '../../src/commands/shared/create/create.ts';
import { NodepoolError } from '../../src/nodepool/errors.ts';
import { API_VERSION, type NodePool, type NodePoolSpec } from '../../src/nodepool/types.ts';
import { cliHere } from '../cluster/harness.ts';
import { override } from '../override.ts';
import { commandsOf, poolYaml } from './commands.ts';
import { whileRefusing } from './refusal.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { refused } = commandsOf(testEnv.cluster);

const ZONE = 'topology.kubernetes.io/zone';
const RACK = 'example.com/rack';

test('a refused pool does not stop the others', async () => {
  const refusal = {
    group: 'nodes.lailin.xyz',
    resource: 'nodepools',
    operation: 'CREATE',
    unless: "object.metadata.name != 'two'",
    probe: ['POST', '/apis/nodes.lailin.xyz/v1/nodepools', pool('two')] as [string, string, unknown],
  } as const;
  await whileRefusing(testEnv.cluster(), refusal, async () => {
    const stdin = ['one', 'two', 'three'].map(name => poolYaml(name)).join('---\n');
    const { code, stdout, stderr } = await cliHere(testEnv.cluster(), ['create', '-f', '-'], { stdin });
    const created = (name: string) => `nodepool.nodes.lailin.xyz/${name} created\n`;
    assert.deepEqual([code, stdout], [1, created('one') + created('three')]);
    assert.match(stderr, /^error: .*two.*not in this test/);
    const dry = await cliHere(testEnv.cluster(), ['create', '-f', '-', '--dry-run=server'], {
      stdin: stdin.replace('name: one', 'name: zero'),
    });
    assert.deepEqual([dry.code, dry.stdout], [1, created('zero').replace('\n', ' (server dry run)\n')]);
    assert.match(dry.stderr, /not in this test.*\n.*pool three already exists/);
  });
  assert.deepEqual([(await testEnv.getPool('one'))?.spec, (await testEnv.getPool('three'))?.spec], [{}, {}]);
});

test('a new pool that selects nodes of another pool is created with a warning', async () => {
  await testEnv.nodes({ name: 'a', labels: role('web') }, { name: 'b', labels: role('web') });
  await testEnv.pool('web');
  for (const flags of [['--dry-run=server'], []]) {
    const args = ['create', 'all', '--node-selector', 'kubernetes.io/os=linux', ...flags];
    const { code, stderr } = await cliHere(testEnv.cluster(), args);
    const warning =
      'warning: pool all will not get nodes that match other pools: web (2 nodes); next: change the node selector of one of the pools\n';
    assert.deepEqual({ code, stderr }, { code: 0, stderr: warning }, flags.join());
  }
});

test('--nodes does not overwrite a label with another value', async () => {
  await testEnv.nodes({ name: 'a', labels: { [RACK]: 'eu-2' } }, { name: 'n', labels: { [RACK]: 'eu-1' } });
  await refused(
    ['create', 'z', '--node-selector', `${RACK}=eu-2`, '--nodes', 'a,n', '--reconcile'],
    1,
    `error: --nodes: node n has the label ${RACK}=eu-1, but members of pool z have ${RACK}=eu-2; next: use other nodes, or change the label: \`kubectl label node n ${RACK}=eu-2 --overwrite\``,
  );
});

test('--nodes sets no label that the cluster owns', async () => {
  await testEnv.nodes({ name: 'n' });
  await refused(
    ['create', 'z', '--node-selector', `${ZONE}=eu-2`, '--nodes', 'n'],
    1,
    `error: --nodes: node n has the label ${ZONE}=region-1-a, but members of pool z have ${ZONE}=eu-2; next: use other nodes: the cluster itself sets this label`,
  );
});

test('--nodes keeps a label that is set meanwhile, and labels the other nodes', async () => {
  await testEnv.nodes({ name: 'a' }, { name: 'n' });
  const connection = await testEnv.connection();
  const cluster = override(connection.cluster, {
    nodes: {
      async patch(name, patch, options) {
        if (name === 'n') await testEnv.patchNode('n', { metadata: { labels: { [RACK]: 'eu-1' } } });
        return connection.cluster.nodes.patch(name, patch, options);
      },
    },
  });
  const pools = [pool('z', { nodeSelector: { [RACK]: 'eu-2' } })];
  await assert.rejects(
    createPools({ pools, nodes: ['n', 'a'], concurrency: 1, dryRun: 'none' }, async () => ({
      cluster,
      approve: async () => 'clear',
    })),
    (error: NodepoolError) => {
      assert.ok(error instanceof NodepoolError);
      assert.match(error.message, /^pool z is created, but --nodes: node n has the label \S+=eu-1/);
      return true;
    },
  );
  assert.equal((await testEnv.node('n')).metadata.labels[RACK], 'eu-1');
  assert.equal((await testEnv.node('a')).metadata.labels[RACK], 'eu-2');
  assert.notEqual(await testEnv.getPool('z'), undefined);
});

test('--nodes accepts a node that already has the label', async () => {
  await testEnv.nodes({ name: 'n', labels: role('w') });
  const { code } = await cliHere(testEnv.cluster(), ['create', 'w', '--nodes', 'n']);
  assert.equal(code, 0);
});

function pool(name: string, spec: NodePoolSpec = {}): NodePool {
  return { apiVersion: API_VERSION, kind: 'NodePool', metadata: { name }, spec };
}
