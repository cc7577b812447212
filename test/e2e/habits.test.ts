/**
 * What a kubectl user types first: each line works, or its error names what to type, on one line. What the command line
 * alone decides: test/unit/main-habits.test.ts; what docs/ or --help show: page.ts, help-examples.test.ts.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import manifest from '../../oclif.manifest.json' with { type: 'json' };
import { main } from '../../src/main.ts';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { testIo } from '../unit/cli/test-io.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;

/** The words after `kubectl nodepool`, the exit code, and what stdout or, after an error, stderr has to contain. */
type Habit = [line: string, code: number, said: RegExp];

/** In the order in which they are typed: pool web has three nodes. */
const HABITS: Habit[] = [
  ['get pools', 1, /leave out "pools"/],
  ['get nodepools.nodes.lailin.xyz', 1, /leave out "nodepools\.nodes\.lailin\.xyz"/],
  ['get nodepool/web', 0, /^web /m],
  ['get web -ojson', 0, /"kind": "NodePool"/],
  ['get -owide', 0, /SELECTOR/],
  ['get web -o jsonpath={.spec.labels.tier}', 0, /^gold$/],
  ['get -A', 0, /^web /m],
  ['get -n default', 0, /^web /m],
  ['--context nodepool-demo get', 0, /^web /m],
  ['get --watch=false', 0, /^web /m],
  ['get --no-headers=true', 0, /^web /],
  ['get web-1', 1, /"web-1" is a node of pool web: .*`kubectl get node web-1`/],
  ['get node/web-1', 1, /`kubectl get node web-1`/],
  ['describe web,gpu', 1, /next: separate names by spaces: web gpu$/m],
  ['get nodes', 1, /`kubectl nodepool nodes` or `kubectl get nodes`/],
  ['get node web-1', 1, /`kubectl get node web-1`/],
  ['describe node web-1', 1, /`kubectl nodepool why web-1` or `kubectl describe node web-1`$/m],
  ['create web', 1, /already exists; next: .*kubectl nodepool edit web/],
  ['create -f pool.yaml', 1, /already exists; next: .*kubectl replace -f pool\.yaml.*kubectl apply -f pool\.yaml/],
  ['create web3 --dry-run -o yaml', 0, /^kind: NodePool$/m],
  ['create web3 --dry-run=server', 0, /created \(server dry run\)$/m],
  ['create web3 --label a=b,c=d --dry-run=server', 0, /created/],
  ['edit web --label a-', 0, /not changed/],
  ['edit web --taint dedicated=web:NoSchedule- --dry-run=server', 0, /edited \(server dry run\)/],
  ['edit web --label team=a --reconcile', 0, /^web +Ready /m],
  ['edit web-1 --label a=b', 1, /"web-1" is a node of pool web: `kubectl edit node web-1`/],
  ['describe -l a=b', 0, /No pools found/],
  ['rollout status web-1', 1, /"web-1" is a node of pool web/],
  ['rollout status nodepool web', 1, /^error: .*leave out "nodepool"/],
  ['reconcile --dry-run', 0, /^web {2}Ready {2}.* {2}\(dry run\)$/m],
  ['reconcile web -o json', 0, /"pool": "web"/],
  ['reconcile --quiet', 0, /^$/],
  ['nodes web -o name', 0, /^node\/web-1$/m],
  ['nodes web-1', 1, /kubectl nodepool why web-1/],
  ['nodes web -L tier', 0, /TIER/],
  ['nodes web --sort-by=.metadata.name', 0, /^web-1 /m],
  ['top nodes', 1, /kubectl nodepool top --nodes/],
  ['top pods', 1, /kubectl nodepool top --pods/],
  ['top web-1', 1, /kubectl nodepool top web --nodes/],
  ['drain web-1', 1, /`kubectl nodepool drain web --node web-1`/],
  ['drain node/web-1', 1, /`kubectl nodepool drain web --node web-1`/],
  ['cordon node/web-1', 1, /`kubectl cordon web-1`/],
  ['uncordon web-1', 1, /`kubectl uncordon web-1`/],
  ['nodes node/web-1', 1, /`kubectl nodepool why web-1`/],
  ['describe node/web-1', 1, /`kubectl describe node web-1`/],
  ['events --for web', 0, /NodeJoined/],
  ['events web-1', 1, /`kubectl nodepool why web-1`/],
  ['events web,gpu', 1, /next: separate names by spaces: web gpu$/m],
  ['events web nope', 1, /"nope" not found/],
  ['cordon --all', 0, /web-1 cordoned/],
  ['uncordon -l team', 0, /^$|uncordoned/],
  ['uncordon --all', 0, /web-1/],
  ['drain web --delete-emptydir-data --force --grace-period=0 --dry-run', 0, /web drained/],
  ['wait web --for=create --for=condition=Ready --for=status=200 -o name', 0, /^nodepool.nodes.lailin.xyz\/web\n$/],
  ['wait web --for=condition=Ready --timeout=5s', 0, /condition met/],
  ['wait web --for=condition=Applied=True --timeout=5s', 0, /condition met/],
  ['wait web --for=jsonpath={.status.status}=200 --timeout=5s', 0, /condition met/],
  [
    'wait web-1 --for=condition=Ready --timeout=1s',
    1,
    /next: "web-1" is a node of pool web: `kubectl wait node\/web-1`/,
  ],
  ['wait nope --for=delete --timeout=5s', 0, /^$|nope/],
  ['version -o json', 0, /"clientVersion"/],
  ['delete --all --dry-run=server', 0, /deleted .*\(server dry run\)/],
  ['delete -l a=b', 0, /No pools found/],
  ['delete web-1', 1, /`kubectl nodepool remove web web-1` or `kubectl delete node web-1`$/m],
  ['delete web-1 --yes', 1, /`kubectl nodepool remove web web-1` or/],
  ['delete node web-1', 1, /`kubectl nodepool remove POOL web-1`/],
  ['delete pool web', 1, /leave out "pool"/],
  ['delete -f pool.yaml --dry-run=server', 0, /deleted .*\(server dry run\)/],
  ['delete web --dry-run', 0, /deleted \(dry run\)/],
  ['delete -f pool.yaml -o name', 0, /^nodepool.nodes.lailin.xyz\/web$/m],
];

test('commands that a kubectl user tries first work, or suggest the right one in a line', {
  timeout: 600_000,
}, async () => {
  await testEnv.nodes(...[1, 2, 3].map(n => ({ name: `web-${n}`, labels: role('web') })));
  await testEnv.pool('web', {
    labels: { tier: 'gold' },
    taints: [{ key: 'dedicated', value: 'web', effect: 'NoSchedule' }],
  });
  await testEnv.reconcile();
  const file = 'apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata: {name: web}\n';
  process.chdir(cluster().dir);
  await writeFile('pool.yaml', file);
  const wrong: string[] = [];
  for (const [line, expected, said] of HABITS) {
    const { code, stdout, stderr } = await cliHere(cluster(), line.split(' '));
    const lines = code === 0 ? stdout + stderr : stderr;
    const isShort = code === 0 || stderr.trimEnd().split('\n').length <= 2;
    if (code !== expected || !said.test(code === 0 ? (said.test(stdout) ? stdout : lines) : stderr) || !isShort) {
      wrong.push(`${line}: ${code}, not ${expected} ${said}\n${stdout}${stderr}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('accepts each global flag of kubectl, or suggests what to type', async () => {
  const { stdout } = await kubectl(cluster(), ['options']);
  const flags = [...stdout.matchAll(/^ +(?:-., )?(--[a-z-]+)=/gm)].map(([, flag = '']) => flag);
  assert.ok(flags.includes('--kubeconfig') && flags.includes('--profile-output'), stdout);
  const { flags: known } = manifest.commands.get;
  const unknown = flags.filter(flag => flag !== '--v' && !(flag.slice(2) in known));
  assert.ok(unknown.length > 0);
  for (const flag of unknown) {
    for (const line of [
      ['get', `${flag}=x`],
      [`${flag}=x`, 'get'],
    ]) {
      const io = testIo();
      assert.equal(await main(line, io, ''), 2, flag);
      assert.match(io.stderrText(), new RegExp(`^error: unknown flag ${flag}.*; next: (?!write the flags).*\n.*\n$`));
    }
  }
});
