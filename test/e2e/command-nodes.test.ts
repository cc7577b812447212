/** `nodes`: the members of a pool, what it applied, and why. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change } from '../../src/nodepool/plan/plan.ts';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { labelNode } from '../cluster/nodes.ts';
import { commandsOf } from './commands.ts';
import { role, useTestEnv } from './test-env.ts';
import { userWith } from './users.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, refused, unchanged } = commandsOf(cluster);

/** Two members of gpu, one with drift; one that left it; one in conflict; one of no pool. */
async function fill(): Promise<void> {
  await testEnv.nodes(
    { name: 'a', labels: role('gpu') },
    { name: 'b', labels: role('gpu'), unschedulable: true },
    { name: 'c', labels: role('gpu') },
    { name: 'd', labels: { team: 'x' }, ready: false },
  );
  await testEnv.pool('gpu', { labels: { tier: 'gold' }, taints: [{ key: 'dedicated', effect: 'NoSchedule' }] });
  await testEnv.reconcile();
  await testEnv.pool('late', { nodeSelector: role('gpu') }, { younger: true });
  await labelNode(cluster(), 'b', { tier: 'brass' });
  await labelNode(cluster(), 'c', { 'node-role.kubernetes.io/gpu': null });
}

test('shows members only, with state, taints, applied values and drift', async () => {
  await refused(['nodes'], 0, 'No node belongs to a pool.');
  await fill();
  const shown = `NAME   STATUS                     POOL          TAINTS                                     APPLIED                               DUE  AGE  SET-BY
a      Ready                      gpu           dedicated:NoSchedule                       tier=gold,dedicated:NoSchedule        <none>  AGE  <none>
b      Ready,SchedulingDisabled   gpu           node.kubernetes.io/unschedulable:NoSchedule,+1   dedicated:NoSchedule            ~tier=gold  AGE  test-cluster(AGE)
c      Ready                      gpu,Leaving   dedicated:NoSchedule                       tier=gold,dedicated:NoSchedule        -tier,-dedicated:NoSchedule  AGE  <none>
`;
  const words = (text: string) => text.split('\n').map(line => line.replaceAll(/\b\d+s\b/g, 'AGE').split(/ {2,}/));
  const { code, stdout, stderr } = await unchanged(['nodes']);
  assert.deepEqual([code, stderr], [0, '']);
  assert.deepEqual(words(stdout), words(shown));
  assert.deepEqual(words(await ok(['nodes', 'gpu', '--no-headers'])), words(shown).slice(1));
  assert.equal(await ok(['nodes', '-o', 'name']), 'node/a\nnode/b\nnode/c\n');
  assert.equal(
    (await kubectl(cluster(), ['nodepool', 'nodes', 'gpu', '-o', 'name'])).stdout,
    'node/a\nnode/b\nnode/c\n',
  );
  assert.match(
    await ok(['nodes', '-o', 'wide']),
    /^NAME .* ALSO-MATCHED-BY +MAINTENANCE +SET-BY\na .* 4 +2\.9Gi +110 +late +<none> +<none>\n/,
  );
});

test('names the pools that own nodes which this pool also matches', async () => {
  await fill();
  await refused(
    ['nodes', 'late'],
    0,
    'No nodes found.\nMatching nodes that belong to other pools: gpu (2 nodes). To see why: `kubectl nodepool why NODE`.',
  );
});

test('supports templates, --sort-by and -L', async () => {
  await fill();
  assert.equal(await ok(['nodes', '-o', 'jsonpath={.items[?(@.unschedulable==true)].name}']), 'b');
  const columns = 'custom-columns=NODE:.metadata.name,TIER:.metadata.labels.tier';
  assert.equal(
    await ok(['nodes', '-o', columns, '--sort-by', '.metadata.labels.tier']),
    'NODE   TIER\nb      brass\na      gold\nc      gold\n',
  );
  const table = (await ok(['nodes', '-L', 'tier,example.com/none', '--sort-by', '{.metadata.labels.tier}'])).split(
    '\n',
  );
  assert.match(table[0] ?? '', /AGE +SET-BY +TIER +NONE$/);
  assert.match(table[1] ?? '', /^b .* brass +<none>$/);
  const see = "See 'kubectl nodepool nodes --help'.";
  const labels = 'error: --label-columns cannot be combined with -o json';
  await refused(['nodes', '-L', 'tier', '-o', 'json'], 2, `${labels}\n${see}`);
  await refused(['nodes', '-o', 'x'], 2, /^error: unknown output format "x"; next: use one of json, yaml, name, wide,/);
  await refused(['nodes', '-w', '-o', 'yaml'], 2, /^error: --watch cannot be combined with -o yaml; /);
  await refused(['nodes', '--sort-by', '.none'], 1, /^error: --sort-by \.none: couldn't find any field/);
});

test('suggests the right command for a node name given as a pool', async () => {
  await fill();
  const why = '`kubectl nodepool why a`';
  const cases = {
    nodes: why,
    diff: why,
    describe: `${why} or \`kubectl describe node a\``,
    cordon: '`kubectl nodepool cordon POOL --node a` or `kubectl cordon a`',
    top: '`kubectl nodepool top POOL --nodes` or `kubectl top node a`',
  };
  for (const [command, next] of Object.entries(cases)) {
    const line = `error: nodepool "a" not found; next: "a" is a node of pool POOL: ${next}`.replaceAll('POOL', 'gpu');
    await refused([command, 'a'], command === 'diff' ? 2 : 1, line);
  }
});

test('shows unassigned nodes, nodes by labels, and JSON', async () => {
  await fill();
  assert.equal(await ok(['nodes', '--unassigned', '-o', 'name']), 'node/d\n');
  assert.equal(await ok(['nodes', '-l', 'tier in (brass)', '-o', 'name']), 'node/b\n');
  await refused(['nodes', '-l', 'tier=none'], 0, 'No nodes found.');
  const { items } = JSON.parse(await ok(['nodes', '-l', 'kubernetes.io/hostname=b', '-o', 'json'])) as {
    items: { name: string; pool: string; changes: Change[]; alsoMatchedBy: string[] }[];
  };
  const withoutSetter = ({ setBy: _, ...change }: Change) => change;
  assert.deepEqual(
    items.map(({ name, pool, changes, alsoMatchedBy }) => ({
      name,
      pool,
      changes: changes.map(withoutSetter),
      alsoMatchedBy,
    })),
    [
      {
        name: 'b',
        pool: 'gpu',
        changes: [{ kind: 'label', key: 'tier', action: 'change', from: 'brass', to: 'gold', reason: 'drift' }],
        alsoMatchedBy: ['late'],
      },
    ],
  );
  assert.match(
    await ok(['nodes', '--unassigned', '-o', 'yaml']),
    /^apiVersion: cli\.nodes\.lailin\.xyz\/v1alpha1\nitems:\n- .*\n(.*\n)* {2}pool: null\n/,
  );
});

test('nodes and diff name who set a differing value, and when', async () => {
  await testEnv.nodes(...['a', 'b', 'c'].map(name => ({ name, labels: role('gpu') })));
  const taints = [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' as const }];
  await testEnv.pool('gpu', { labels: { tier: 'gold', team: 'x' }, taints });
  await testEnv.reconcile();
  for (const line of [
    'label node a tier=mine --overwrite',
    'label node b team-',
    'taint node c dedicated=me:NoSchedule --overwrite',
  ])
    assert.equal((await kubectl(cluster(), line.split(' '))).code, 0);
  const { stdout } = await cliHere(cluster(), ['diff']);
  const normal = stdout.replaceAll(/ \d+s ago/g, ' AGE ago');
  assert.equal(
    normal,
    `node a (pool gpu)
  ~ label tier: mine -> gold  (drift: set by kubectl-label AGE ago)

node b (pool gpu)
  + label team=x  (drift)

node c (pool gpu)
  ~ taint dedicated:NoSchedule: me -> gpu  (drift: taints set by kubectl-taint AGE ago)

3 nodes would change: 1 set, 2 changed
`,
  );
  const wide = (await ok(['nodes', '-o', 'wide', '--no-headers'])).trimEnd().split('\n');
  const setters = wide.map(line => line.split(/ +/).at(-1)?.replace(/\d+s/, 'AGE'));
  assert.deepEqual(setters, ['kubectl-label(AGE)', '<none>', 'kubectl-taint(AGE)']);
  const table = (await ok(['nodes', '--no-headers'])).trimEnd().split('\n');
  assert.deepEqual(
    table.map(line => line.split(/ +/).at(-1)?.replace(/\d+s/, 'AGE')),
    setters,
  );
  assert.match(await ok(['nodes', '-l', 'team']), / AGE +SET-BY\n/);
  assert.match(await ok(['nodes', '-l', '!team']), / AGE\n/);
  const { items } = JSON.parse(await ok(['nodes', '-o', 'json'])) as { items: { changes: Change[] }[] };
  const { setBy } = items[0]?.changes[0] ?? {};
  assert.deepEqual([setBy?.manager, setBy?.operation], ['kubectl-label', 'Update']);
  assert.ok(Math.abs(Date.parse(setBy?.time ?? '') - Date.now()) < 60_000, String(setBy?.time));

  // Who may not read single nodes sees the same without names.
  const rule = { apiGroups: ['', 'nodes.lailin.xyz', 'node.k8s.io'], resources: ['*'], verbs: ['list'] };
  const kubeconfig = await userWith(cluster(), 'lister', [rule]);
  const nameless = await cliHere(cluster(), ['diff', '--kubeconfig', kubeconfig]);
  assert.deepEqual([nameless.code, nameless.stderr], [1, '']);
  assert.equal(nameless.stdout, normal.replaceAll(/: (taints )?set by [^)]*/g, ''));
});

test('refuses wrong command lines', async () => {
  const next = 'next: list the pools with `kubectl nodepool get`';
  await refused(['nodes', 'nope'], 1, `error: nodepool "nope" not found; ${next}`);
  await refused(['nodes', '-l', '!!'], 2, /^error: -l "!!": .*; next: write it like a=b,c!=d,e\nSee /);
  await refused(['nodes', 'a', '--unassigned'], 2, /^error: --unassigned cannot be used with names of pools; /);
  await refused(
    ['nodes', '--why', 'nope'],
    1,
    'error: node "nope" not found; next: list the nodes with `kubectl get nodes`',
  );
  await refused(['nodes', '--why', 'a', '-o', 'name'], 2, /^error: --why explains one node; /);
  await refused(
    ['nodes', '--why', 'a', '--watch'],
    2,
    /^error: --watch=true cannot also be provided when using --why\n/,
  );
  await testEnv.nodes({ name: 'known' });
  await refused(['nodes', 'nope', '--why', 'known'], 1, `error: nodepool "nope" not found; ${next}`);
});

test('--why explains the membership for each pool', async () => {
  await fill();
  assert.equal(
    await ok(['nodes', '--why', 'a']),
    `node a is in pool gpu

pool gpu: owns the node (it had the node first; late matches too)
  = node-role.kubernetes.io/gpu=  the node has this label
  the pool set tier=gold, dedicated:NoSchedule

pool late: matches, but pool gpu owns the node (it had the node first)
  = node-role.kubernetes.io/gpu=  the node has this label
`,
  );
  assert.equal(
    await ok(['nodes', '--why', 'c']),
    `node c is in no pool

pool gpu: does not match
  the node still has what the pool set: the next reconcile removes it
  ! node-role.kubernetes.io/gpu=  the node does not have this label
  the pool set tier=gold, dedicated:NoSchedule
  - label tier=gold  (left the pool)
  - taint dedicated:NoSchedule  (left the pool)
  \`kubectl nodepool reconcile gpu\` makes these changes

pool late: does not match
  ! node-role.kubernetes.io/gpu=  the node does not have this label
`,
  );
  const explained = JSON.parse(await ok(['nodes', '--why', 'b', '-o', 'json'])) as { owner: string; pools: object[] };
  assert.deepEqual([explained.owner, explained.pools.length], ['gpu', 2]);
});

test('escapes text of the cluster', async () => {
  const taints = [{ key: 'x', effect: 'NoSchedule' as const }];
  await testEnv.nodes({ name: 'a', labels: role('gpu'), taints });
  await testEnv.pool('gpu');
  await testEnv.patchNode('a', {
    metadata: { annotations: { 'nodes.lailin.xyz/applied': '{"pool":"p\\u001b[2J","labels":{"a":"b"}}' } },
  });
  for (const args of [['nodes'], ['nodes', '-o', 'wide'], ['nodes', '--why', 'a'], ['nodes', '-o', 'json']]) {
    const { stdout, stderr } = await cliHere(cluster(), args);
    assert.doesNotMatch(stdout + stderr, /\x1b/, args.join(' '));
  }
});
