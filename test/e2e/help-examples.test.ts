/** The examples in `--help`, as a shell reads them: each does what its sentence says. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { load } from 'js-yaml';
import { projectFiles, ROOT } from '../../scripts/root.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import { cliHere } from '../cluster/harness.ts';
import { pluginFolder } from '../cluster/plugin.ts';
import { raw } from '../cluster/raw.ts';
import { type RunResult, run } from '../cluster/run.ts';
import { poolYaml } from './commands.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;

interface Example {
  description: string;
  command: string;
}

const { commands } = JSON.parse(readFileSync(new URL('../../oclif.manifest.json', import.meta.url), 'utf8')) as {
  commands: Record<string, { examples?: Example[] }>;
};

/** Until Ctrl-C, on a terminal, for a file of the user, or on the whole cluster: other tests run these. */
const ATTENDED = /--watch|^view|^uninstall(?!.*--dry-run)|--controller|^completion (fish|kubectl)/;

/** A command and its output in a page of docs/. */
const SHOWN = /^\$ kubectl nodepool (.*)$/gm;

/** What the examples print that change nothing, all in one state: pools worker (team=a) with 3 nodes, gpu with 2, old with 1, new with none. */
const LOOK: Record<string, RegExp> = {
  'get -o wide': /HANDLER.*SELECTOR/,
  'get worker -o yaml': /^ {2}name: worker$/m,
  'get -l team=a -o name': /^nodepool.nodes.lailin.xyz\/worker\n$/,
  'get -o jsonpath=\'{.items[?(@.spec.handler=="runc")].metadata.name}\'': /^worker$/,
  'get --sort-by .status.nodeCount -o custom-columns=POOL:.metadata.name,NODES:.status.nodeCount':
    /^POOL +NODES\nnew +0\nold +1\ngpu +2\nworker +3\n$/,
  'describe worker': /^Name: +worker$/m,
  describe: /^Name: +gpu$[\s\S]*^Name: +worker$/m,
  'describe -l team=a': /^Name: +worker$/m,
  'nodes gpu -o wide': /^node-a .*\nnode-b /m,
  'nodes --unassigned': /^free /m,
  'nodes gpu --why node-a': /gpu/,
  'why node-a': /^node node-a is in pool gpu/,
  'why node-a gpu': /gpu/,
  'why node-a -o json': /"kind": "NodeExplanation"/,
  'nodes -L topology.kubernetes.io/zone --sort-by .metadata.creationTimestamp': /ZONE/,
  'nodes gpu -o name': /^node\/node-a\nnode\/node-b\n$/,
  "nodes -o jsonpath='{.items[?(@.ready==false)].name}'": /^node-b$/,
  events: /NodeJoined +\S+ +gpu[\s\S]*NodeJoined +\S+ +worker|NodeJoined +\S+ +worker[\s\S]*NodeJoined +\S+ +gpu/,
  'events worker gpu': /NodeJoined +\S+ +(worker|gpu)/,
  'events -l team=a': /NodeJoined +\S+ +worker/,
  'events worker -o json': /"kind": "Event"/,
  'history worker': /NodeJoined[\s\S]*Not shown|NodeJoined/,
  'history node-1': /NodeJoined +\S+ +pool worker: /,
  'history node/node-1 -o wide': /^TIME +WHAT +WHO +SOURCE +DETAIL\n\d{4}-/,
  'history worker --since 1h --limit 10': /^TIME +WHAT/,
  'history worker -o json': /"kind": "History"/,
  'report -l team=a > team-a.html': /^$/,
  'report -o json': /"kind": "PoolReport"/,
  'top gpu --nodes': /node-a/,
  'top gpu --pods --sort-by cpu.requested': /^$/,
  'top --resources nvidia.com/gpu --sort-by nvidia.com/gpu.free': /GPU/i,
  'top --nodes -o csv': /^[a-zA-Z,]+\n[\s\S]*node-a/,
  'diff worker >/dev/null; case $? in 1) echo differs;; 2) echo failed;; esac': /^$/,
  'diff -l team=a': /^$/,
  'diff worker --impact': /^$/,
  'diff -o json': /"kind": "Diff"/,
  'diff -f pools/ --impact': /^$/,
  'fit web-5d4f -n shop': /^worker +yes /m,
  'fit -f web.yaml --replicas 10': /^worker +yes /m,
  'fit -f - < web.yaml': /^worker +yes /m,
  'fit -f web.yaml --pool gpu,worker': /^worker +yes /m,
  'fit --cpu 4 --memory 8Gi --gpu 1': /nvidia\.com\/gpu 1/,
  'fit -f web.yaml -o json': /"kind": "PodFitList"/,
  'adopt --label example.com/team': /red/,
  'adopt -o yaml': /name: system/,
  'add gpu node-a --dry-run': /node-a/,
  'remove gpu node-a --dry-run': /node-a.*gpu/,
  'delete worker --dry-run=server': /"worker" deleted .*\(server dry run\)/,
  'uncordon worker --dry-run': /node-1/,
  'drain worker --ignore-daemonsets --dry-run=server': /worker drained .*\(server dry run\)/,
  'wait worker --for=status=200': /worker condition met/,
  'wait worker --for=ready=3 --timeout=5m': /worker condition met/,
  'wait --all --for=condition=Ready': /gpu condition met[\s\S]*worker condition met/,
  'wait worker --for=create --for=status=200': /worker condition met\n.*worker condition met/,
  'rollout status worker': /"worker" successfully rolled out/,
  'rollout status worker --timeout=10m && echo done': /^done$/m,
  'install --dry-run -o yaml': /kind: CustomResourceDefinition/,
  'completion bash': /complete/,
  'completion zsh': /compdef/,
  'version --client': /^Client Version: .*\n$/,
};

/** Examples that write, each in a state of its own, that of LOOK but for WITHOUT and for nodes that are to join. */
const CHANGE: Record<string, RegExp> = {
  'create worker --label tier=gold --taint dedicated=worker:NoSchedule': /worker created/,
  'create gpu --handler nvidia --nodes node-a,node-b --reconcile': /^gpu +Ready +2 nodes/m,
  'create spot --node-selector cloud.example.com/lifecycle=spot': /spot created/,
  'create -f pools.yaml': /worker created\n.*gpu created/,
  'adopt system gpu --create': /system created\n.*gpu created/,
  'adopt --create --yes': /system created/,
  'edit worker': /Edit cancelled/,
  'edit worker --label tier=silver --label team-': /worker edited/,
  'edit worker --taint dedicated=x:NoExecute --taint old:NoSchedule- --handler ""': /worker edited/,
  'add gpu node-a node-b': /node-a.*gpu\n.*node-b.*gpu/,
  'add gpu -l accelerator=a100': /node-a.*gpu\n.*node-b.*gpu/,
  'remove gpu node-a node-b': /node-a.*gpu\n.*node-b.*gpu/,
  'remove gpu -l old=true': /node-a.*gpu/,
  'move node-a --to gpu': /node-a.*gpu/,
  'move --from old --to new': /node-c.*new/,
  'move -l zone=a --from old --to new --yes': /node-c.*new/,
  'delete worker': /deleted \(3 nodes released\)/,
  'delete -f pools.yaml': /"worker" deleted/,
  'cordon worker': /node-1 cordoned[\s\S]*node-3 cordoned/,
  "cordon worker --reason 'kernel upgrade' --until 18:00": /node-1 cordoned[\s\S]*node-3 cordoned/,
  'cordon worker --node node-1 --node node-2': /node-1 cordoned\n.*node-2 cordoned\n$/,
  'cordon -l team=a': /node-1 cordoned[\s\S]*node-3 cordoned/,
  'uncordon worker --node node-1 --node node-2': /node-2/,
  'uncordon -l team=a': /node-3/,
  'drain worker --ignore-daemonsets --node node-1,node-2': /worker drained/,
  'drain gpu --ignore-daemonsets --max-unavailable 25%': /gpu drained/,
  'wait worker gpu --for=delete': /^$/,
  'rollout pause worker': /worker paused/,
  'rollout resume worker': /worker resumed/,
  'rollout undo worker': /worker rolled back/,
  'reconcile worker --wait': /^worker +Ready /m,
};

/** Pools that do not exist yet, or nodes that belong to none, by the beginning of the line. */
const WITHOUT: [line: RegExp, pools: string[]][] = [
  [/^(create|wait worker gpu --for=delete)/, ['worker', 'gpu']],
  [/^adopt/, ['gpu']],
];

async function setUp(line: string): Promise<void> {
  await writeFiles();
  await testEnv.clean();
  const without = WITHOUT.find(([pattern]) => pattern.test(line))?.[1] ?? [];
  const isJoining = /^(add|create|move node-a)/.test(line) && !line.includes('--dry-run');
  const gpu = { accelerator: 'a100', old: 'true', ...(isJoining ? {} : role('gpu')) };
  await testEnv.nodes(
    ...[1, 2, 3].map(n => ({ name: `node-${n}`, labels: role('worker') })),
    { name: 'node-a', labels: gpu },
    { name: 'node-b', labels: gpu, ready: false },
    { name: 'node-c', labels: { ...role('old'), zone: 'a' } },
    {
      name: 'free',
      labels: { 'kubernetes.azure.com/agentpool': 'system', 'example.com/team': 'red' },
      allocatable: { cpu: '8', memory: '16Gi', pods: '110', 'nvidia.com/gpu': '1' },
    },
  );
  for (const name of ['worker', 'gpu', 'old', 'new'].filter(pool => !without.includes(pool))) {
    const metadata = name === 'worker' ? { labels: { team: 'a' } } : {};
    const paused = line.startsWith('rollout resume') ? { paused: true } : {};
    const rollout = line.startsWith('rollout undo') ? { rollout: {} } : {};
    const spec = { labels: { tier: 'gold' }, handler: 'runc', ...paused, ...rollout };
    await testEnv.pool(name, name === 'worker' ? spec : {}, { metadata });
  }
  await testEnv.reconcile();
  if (line.startsWith('rollout undo')) {
    await testEnv.edit('worker', { spec: { labels: { tier: 'silver' } } });
    await testEnv.reconcile();
  }
}

const POD = `apiVersion: v1
kind: Pod
metadata: {name: web-5d4f, namespace: shop}
spec: {containers: [{name: main, image: registry.example.com/web:1}]}
`;

/** What only a shell can do. */
const OF_SHELL = /[<>;&]/;

/** The files that examples name, in the working directory. */
async function writeFiles(): Promise<void> {
  const { dir } = cluster();
  await writeFile(join(dir, 'web.yaml'), POD);
  await writeFile(join(dir, 'pools.yaml'), `${poolYaml('worker')}---\n${poolYaml('gpu')}`);
  await mkdir(join(dir, 'pools'), { recursive: true });
  await writeFile(join(dir, 'pools', 'gpu.yaml'), poolYaml('gpu'));
  process.chdir(dir);
}

/** Runs the line in this process after splitting it as a shell does, or runs the whole line in a shell. */
async function type(line: string): Promise<RunResult> {
  if (!OF_SHELL.test(line)) {
    const { stdout } = await run('sh', ['-c', `printf '%s\\0' ${line}`]);
    return cliHere(cluster(), stdout.split('\0').slice(0, -1), { env: { KUBE_EDITOR: 'true' } });
  }
  const { kubectl } = await ensureBinaries(['kubectl']);
  const { dir, kubeconfig } = cluster();
  const path = [await pluginFolder(cluster()), dirname(kubectl), process.env.PATH].join(':');
  const env = { PATH: path, HOME: dir, KUBECONFIG: kubeconfig, KUBE_EDITOR: 'true', NO_COLOR: '1' };
  return run('sh', ['-c', `kubectl nodepool ${line}`], { cwd: dir, env });
}

/** What is wrong, or nothing. */
async function check(line: string, said: RegExp): Promise<string[]> {
  const { code, stdout, stderr } = await type(line);
  if (code === 0 && (said.test(stdout) || said.test(stderr))) return [];
  return [`${line}: ${code}, not 0 ${said}\n${stdout}${stderr}`];
}

test('each example is tested here, or on a page that shows its output', () => {
  const pages = projectFiles(['README.md', 'docs/**/*.md']).map(page => readFileSync(join(ROOT, page), 'utf8'));
  const shown = new Set(pages.flatMap(text => [...text.matchAll(SHOWN)].map(([, line]) => line)));
  const lines = Object.values(commands).flatMap(({ examples = [] }) =>
    examples.map(({ command }) => command.replace(/^<%= config.bin %> /, '')),
  );
  assert.deepEqual(
    lines.filter(line => !ATTENDED.test(line) && !shown.has(line)).toSorted(),
    [...Object.keys(LOOK), ...Object.keys(CHANGE)].toSorted(),
  );
});

test('examples that only read work', { timeout: 300_000 }, async () => {
  await setUp('get');
  const api = raw(cluster());
  await api.request('POST', '/api/v1/namespaces', { metadata: { name: 'shop' } });
  await api.expect('POST', '/api/v1/namespaces/shop/pods', load(POD) as object);
  const wrong: string[] = [];
  for (const [line, expected] of Object.entries(LOOK)) wrong.push(...(await check(line, expected)));
  assert.deepEqual(wrong, []);
});

test('examples that write work', { timeout: 600_000 }, async () => {
  const wrong: string[] = [];
  for (const [line, expected] of Object.entries(CHANGE)) {
    await setUp(line);
    wrong.push(...(await check(line, expected)));
  }
  assert.deepEqual(wrong, []);
});
