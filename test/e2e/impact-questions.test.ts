/** Commands ask only before a change that costs pods their place. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { NO_TERMINAL, stateOf } from './commands.ts';
import { poolsWithPods } from './draining.ts';
import { openTerminal } from './terminal.ts';
import { role, useTestEnv } from './test-env.ts';
import { userWith } from './users.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { pod } = poolsWithPods(testEnv);
const options = { skip: NO_TERMINAL ?? false, timeout: 120_000 };
const SCREEN = { columns: 140, rows: 50, env: { NO_COLOR: '1' } };
const LOST =
  /Impact:\n[\s\S]*- label tier=gold on 1 node; no other node has it\n {2}DaemonSet default\/bird stops on 1 node: a\n[\s\S]*\? \[y\/N\]/;

beforeEach(async () => {
  await testEnv.nodes({ name: 'a', labels: role('web') }, { name: 'b', labels: role('other') });
  await testEnv.pool('web', { labels: { tier: 'gold', plain: 'x' } });
  await testEnv.pool('other');
  await testEnv.reconcile();
  const labels = { daemon: 'bird' };
  const spec = { nodeSelector: { tier: 'gold' }, containers: [{ name: 'c', image: 'i' }] };
  await raw(cluster()).expect('POST', '/apis/apps/v1/namespaces/default/daemonsets', {
    metadata: { name: 'bird' },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  });
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'bird' };
  await pod({ name: 'bird-a', node: 'a', owner, nodeSelector: { tier: 'gold' } });
});

for (const { args, prepare = async () => {}, ends } of [
  { args: ['edit', 'web', '--label', 'tier-', '--reconcile'], ends: /^nothing was changed/m },
  { args: ['move', 'a', '--to', 'other'], ends: /^nothing was changed/m },
  ...[['reconcile', 'web'], ['reconcile']].map(args => ({
    args,
    prepare: () => testEnv.edit('web', { spec: { labels: { tier: null } } }),
    ends: /^nothing was changed/m,
  })),
]) {
  test(
    `${args.join(' ')}: asks before it removes a label that a DaemonSet needs; the answer no writes nothing`,
    options,
    async t => {
      await prepare();
      const before = await stateOf(cluster());
      const refused = openTerminal(t, cluster(), args, SCREEN);
      await refused.shows(LOST);
      refused.type('n{enter}');
      assert.equal((await refused.exit).exitCode, 1);
      assert.match(refused.screen(), ends);
      assert.deepEqual(await stateOf(cluster()), before);
      const agreed = openTerminal(t, cluster(), args, SCREEN);
      await agreed.shows(LOST);
      agreed.type('y{enter}');
      assert.equal((await agreed.exit).exitCode, 0);
      assert.equal(agreed.screen().match(/\[y\/N\]/g)?.length, 1, agreed.screen());
      assert.equal((await testEnv.node('a')).metadata.labels?.tier, undefined);
    },
  );
}

test(
  'asks about a NoSchedule taint that a running pod does not tolerate, but not about changes that affect no pod',
  options,
  async t => {
    await pod({ name: 'shop', node: 'a' });
    const taint = ['edit', 'web', '--taint', 'dedicated=web:NoSchedule', '--reconcile'];
    const asked = openTerminal(t, cluster(), taint, SCREEN);
    const screen = await asked.shows(/\? \[y\/N\]/);
    assert.match(screen, /ReplicaSet default\/web keeps running, but could not be scheduled there again/);
    asked.type('n{enter}');
    await asked.exit;
    for (const args of [
      ['edit', 'web', '--label', 'plain-', '--label', 'new=y', '--reconcile'],
      ['edit', 'web', '--label', 'tier-', '--reconcile', '--yes'],
    ]) {
      const run = openTerminal(t, cluster(), args, SCREEN);
      assert.equal((await run.exit).exitCode, 0, run.screen());
      assert.doesNotMatch(run.screen(), /Impact|\[y\/N\]/);
    }
  },
);

test('does not ask a script', { timeout: 120_000 }, async () => {
  const { code, stderr } = await cliHere(cluster(), ['edit', 'web', '--label', 'tier-', '--reconcile']);
  assert.deepEqual([code, stderr], [0, '']);
});

test('edit --dry-run shows the changes on the nodes and the impact, in a pipe and on a terminal', options, async t => {
  const before = await stateOf(cluster());
  const piped = await cliHere(cluster(), ['edit', 'web', '--label', 'tier-', '--dry-run']);
  assert.match(
    piped.stdout,
    /^node a \(pool web\)\n {2}- label tier=gold[\s\S]*DaemonSet default\/bird stops[\s\S]*edited \(dry run\)\n$/,
  );
  const run = openTerminal(t, cluster(), ['edit', 'web', '--label', 'tier-', '--dry-run'], SCREEN);
  assert.equal((await run.exit).exitCode, 0);
  assert.match(
    run.screen(),
    /node a \(pool web\)\n {2}- label tier=gold[\s\S]*DaemonSet default\/bird stops[\s\S]*edited \(dry run\)/,
  );
  assert.deepEqual(await stateOf(cluster()), before);
});

test('edit without --reconcile also asks, because a controller applies the saved spec', options, async t => {
  const before = await stateOf(cluster());
  const refused = openTerminal(t, cluster(), ['edit', 'web', '--label', 'tier-'], SCREEN);
  await refused.shows(LOST);
  refused.type('n{enter}');
  assert.equal((await refused.exit).exitCode, 1);
  assert.deepEqual(await stateOf(cluster()), before);
  const saved = openTerminal(t, cluster(), ['edit', 'web', '--label', 'tier-'], SCREEN);
  await saved.shows(LOST);
  saved.type('y{enter}');
  assert.equal((await saved.exit).exitCode, 0);
  assert.match(saved.screen(), /next: `kubectl nodepool diff web --impact` shows the changes/);
});

test('asks about a new label that keeps a DaemonSet away', options, async t => {
  const avoids = [{ matchExpressions: [{ key: 'bare', operator: 'DoesNotExist' }] }];
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: avoids } } };
  await raw(cluster()).expect('PATCH', '/apis/apps/v1/namespaces/default/daemonsets/bird', {
    spec: { template: { spec: { nodeSelector: null, affinity } } },
  });
  const before = await stateOf(cluster());
  const stops = /\+ label bare=x on 1 node\n {2}DaemonSet default\/bird stops on 1 node: a\n[\s\S]*\? \[y\/N\]/;
  for (const args of [
    ['edit', 'web', '--label', 'bare=x', '--reconcile'],
    ['create', 'bare', '--label', 'bare=x', '--node-selector', 'node-role.kubernetes.io/web=', '--reconcile'],
  ]) {
    if (args[0] === 'create') await testEnv.delete(['web']);
    const state = args[0] === 'create' ? await stateOf(cluster()) : before;
    const refused = openTerminal(t, cluster(), args, SCREEN);
    await refused.shows(stops);
    refused.type('n{enter}');
    assert.equal((await refused.exit).exitCode, 1);
    assert.deepEqual(await stateOf(cluster()), state);
  }
});

test('shows the impact above the question about a new selector', options, async t => {
  const run = openTerminal(t, cluster(), ['edit', 'web', '--node-selector', 'none=x'], SCREEN);
  await run.shows(/DaemonSet default\/bird stops on 1 node: a\n[\s\S]*Save pool web[^?]*\? \[y\/N\]/);
  run.type('n{enter}');
  assert.equal((await run.exit).exitCode, 1);
});

test('does not ask about an object that selects the node as before', options, async t => {
  for (const [name, nodeTerm] of [
    ['exists', { key: 'plain', operator: 'Exists' }],
    ['others', { key: 'plain', operator: 'NotIn', values: ['other'] }],
    ['elsewhere', { key: 'plain', operator: 'In', values: ['elsewhere'] }],
  ] as const) {
    const terms = [{ matchExpressions: [nodeTerm] }];
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } };
    const spec = { affinity, containers: [{ name: 'c', image: 'i' }] };
    await raw(cluster()).expect('POST', '/apis/apps/v1/namespaces/default/deployments', {
      metadata: { name },
      spec: { selector: { matchLabels: { name } }, template: { metadata: { labels: { name } }, spec } },
    });
  }
  t.after(() => raw(cluster()).expect('DELETE', '/apis/apps/v1/namespaces/default/deployments'));
  const run = openTerminal(t, cluster(), ['edit', 'web', '--label', 'plain=y', '--reconcile'], SCREEN);
  assert.equal((await run.exit).exitCode, 0);
  assert.doesNotMatch(run.screen(), /Impact|\[y\/N\]/);
});

/** Who may not list pods and DaemonSets. */
const blind = (name: string) =>
  userWith(cluster(), name, [
    { apiGroups: ['nodes.lailin.xyz'], resources: ['*'], verbs: ['*'] },
    { apiGroups: [''], resources: ['nodes'], verbs: ['*'] },
    { apiGroups: ['node.k8s.io'], resources: ['runtimeclasses'], verbs: ['*'] },
  ]);

test('diff --impact says that the impact is unknown to a user who may not list pods and DaemonSets', async () => {
  await testEnv.edit('web', { spec: { labels: { tier: null } } });
  const user = await blind('blind');
  const text = await cliHere(cluster(), ['diff', 'web', '--impact', '--kubeconfig', user]);
  assert.match(text.stdout, /\n\nImpact: unknown\n/);
  const json = await cliHere(cluster(), ['diff', 'web', '--impact', '-o', 'json', '--kubeconfig', user]);
  const known = await cliHere(cluster(), ['diff', 'web', '--impact', '-o', 'json']);
  assert.deepEqual(
    [json, known].map(({ stdout }) => JSON.parse(stdout).impact.known),
    [false, true],
  );
});

test('asks a user who may not list pods and DaemonSets', options, async t => {
  const user = await blind('asked');
  const args = ['edit', 'web', '--label', 'plain-', '--kubeconfig', user];
  const run = openTerminal(t, cluster(), args, SCREEN);
  await run.shows(/the impact on [A-Za-z, ]*pods[\s\S]*Impact: unknown[\s\S]*\? \[y\/N\]/);
  run.type('n{enter}');
  assert.equal((await run.exit).exitCode, 1);
  assert.equal((await testEnv.getPool('web'))?.spec.labels?.plain, 'x');
});
