/** Loaded modules decide the start-up time: for each command, the modules that it must not load. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { projectFiles } from '../../scripts/root.ts';
import { commands } from '../../src/commands/index.ts';
import { run } from '../cluster/run.ts';
import { useTestEnv } from './test-env.ts';

const ROOT = new URL('../../', import.meta.url);

/** Modules that hardly a run below needs: writes, dashboard, grids, spinner, logins, proxies, drains, controller. */
const RARE = [
  '@kubernetes/client-node',
  'cli-table3',
  'ink',
  'ora',
  'react',
  'socks',
  'src/view/run.ts',
  'src/kube/auth/exec-',
  'src/kube/auth/oidc',
  'src/kube/proxy/socks',
  'src/kube/proxy/tunnel.ts',
  'src/kube/resources/doctor.ts',
  'src/kube/resources/evictions.ts',
  'src/kube/resources/workloads.ts',
  'src/controller/manager.ts',
  'src/controller/reflector.ts',
];
/** Those of RARE that a run needs. */
const NEEDED: Record<string, string[]> = {
  'describe gpu': ['cli-table3'],
  view: ['src/controller/reflector.ts'],
  // It writes. Without a bundle, all of client-node is loaded, and with it socks.
  'edit gpu --label a=b --dry-run=server': ['@kubernetes/client-node', 'socks'],
  'drain gpu --dry-run': ['src/kube/resources/evictions.ts'],
  'wait gpu --for=status=200': ['src/controller/reflector.ts'],
  'rollout status gpu': ['src/controller/reflector.ts'],
  doctor: ['src/kube/resources/doctor.ts'],
};
/** Answers without a cluster. */
const OFFLINE = ['@bufbuild/protobuf', 'chalk', 'js-yaml'].concat(
  ['controller', 'kube', 'reconciler'].map(folder => `src/${folder}/`),
);
/** Commands that only read pools need neither node plans nor the output of other commands. */
const POOLS_ALONE = [
  'src/reconciler/',
  'src/commands/shared/describe/print-describe.ts',
  'src/print/jsonpath/',
  'src/commands/nodes/print.ts',
];
const NO_DRAIN = ['src/commands/drain/', 'src/kube/resources/evictions.ts'];
const NO_WRITES = [
  'src/reconciler/write/node-writer.ts',
  'src/reconciler/reconciler.ts',
  'src/reconciler/write/status-writer.ts',
];

const NO_APPLY = [
  ...NO_WRITES,
  'src/commands/shared/reconcile/apply.ts',
  'src/commands/shared/consent/consent.ts',
  'src/reconciler/plan/cluster-plan.ts',
];
/** Prints lines of text. */
const NO_TABLE = ['chalk', 'src/print/table.ts', 'src/print/yaml.ts'];
/** Asks and applies: the same modules for all commands that do. */
const PODS = 'src/kube/protobuf/pod';
const APPLIES = [...NO_TABLE, ...NO_DRAIN, PODS, 'src/commands/doctor/'];

/** Commands that would write run as a dry run. */
const MUST_NOT_LOAD: Record<string, string[]> = {
  '--help': OFFLINE,
  'get --help': OFFLINE,
  'version --client': OFFLINE,
  version: [...NO_TABLE, 'src/commands/shared/', 'src/reconciler/'],
  'completion bash': OFFLINE,
  // It refuses, without a terminal.
  view: [...NO_APPLY, ...NO_DRAIN, '@bufbuild/protobuf', 'js-yaml', 'src/kube/', 'src/print/table.ts'],
  get: [...NO_WRITES, ...NO_APPLY, ...POOLS_ALONE.filter(part => part !== 'src/reconciler/'), 'src/print/yaml.ts'],
  'get --cached': [...POOLS_ALONE, 'src/print/yaml.ts'],
  'get -o name': [...POOLS_ALONE, 'chalk', 'src/print/table.ts', 'src/commands/get/print.ts'],
  'describe gpu': [...NO_APPLY, ...NO_DRAIN, 'src/commands/get/print.ts', 'src/print/yaml.ts'],
  events: [...POOLS_ALONE, 'src/commands/get/print.ts'],
  'history gpu': [...NO_DRAIN, ...NO_WRITES, 'src/commands/get/print.ts', 'src/commands/report/page.ts'],
  report: [...NO_DRAIN, ...NO_WRITES, 'src/commands/get/print.ts', 'src/commands/history/'],
  top: [...NO_DRAIN, ...NO_WRITES],
  diff: [...NO_DRAIN, ...NO_WRITES, 'src/commands/get/print.ts'],
  nodes: [...NO_DRAIN, ...NO_WRITES, 'src/kube/protobuf/pod'],
  'why a': [...NO_DRAIN, ...NO_WRITES, 'src/kube/protobuf/pod'],
  'create spot --label a=b --dry-run=client': [...APPLIES, '@bufbuild/protobuf', 'js-yaml', 'src/kube/'],
  adopt: [...NO_APPLY, ...NO_DRAIN, 'src/kube/protobuf/pod', 'src/print/yaml.ts'],
  // It shows the impact.
  'edit gpu --label a=b --dry-run=server': [
    ...APPLIES.filter(part => part !== 'chalk' && part !== PODS),
    ...NO_WRITES,
    'src/commands/shared/reconcile/apply.ts',
  ],
  // It names pods that could not be scheduled there again.
  'add gpu a --dry-run': APPLIES.filter(part => part !== PODS),
  'remove gpu a --dry-run': APPLIES.filter(part => part !== 'chalk' && part !== PODS),
  'move a --to gpu --dry-run': APPLIES.filter(part => part !== PODS),
  'fit --help': OFFLINE,
  reconcile: [...NO_DRAIN, 'src/kube/protobuf/pod', 'src/print/yaml.ts'],
  'delete gpu --dry-run': APPLIES.filter(part => part !== 'chalk'),
  'cordon gpu --dry-run': [...NO_TABLE, ...NO_APPLY, ...NO_DRAIN],
  'uncordon gpu --dry-run': [...NO_TABLE, ...NO_APPLY, ...NO_DRAIN],
  'drain gpu --dry-run': ['src/commands/doctor/', 'src/reconciler/plan/cluster-plan.ts', 'src/print/yaml.ts'],
  'wait gpu --for=status=200': [...NO_TABLE, ...NO_APPLY, ...POOLS_ALONE],
  'rollout status gpu': [...NO_TABLE, ...NO_APPLY, ...POOLS_ALONE],
  'rollout pause gpu --dry-run': [...NO_TABLE, ...NO_DRAIN, 'src/commands/shared/reconcile/apply.ts'],
  'install --dry-run': [...NO_TABLE, ...NO_APPLY, ...POOLS_ALONE],
  'uninstall --cascade --dry-run': APPLIES.filter(part => part !== 'chalk'),
  doctor: [...NO_APPLY, ...NO_DRAIN, 'src/commands/get/print.ts'],
  // The first run asks the server, the second one reads the cache.
  '__complete get g': ['@oclif/core', 'chalk', 'src/commands/shared/', 'src/reconciler/', 'src/kube/connect.ts'],
  '__complete get gp': ['@oclif/core', '@bufbuild/protobuf', 'chalk', 'src/commands/shared/', 'src/kube/transport/'],
};

const testEnv = useTestEnv();

function forbiddenTo(line: string): string[] {
  return [...RARE.filter(part => !NEEDED[line]?.includes(part)), ...(MUST_NOT_LOAD[line] ?? [])];
}

/** By these lines together: the project's files by path, and packages by name; node: modules belong to the runtime. */
async function loadedBy(lines: string[]): Promise<string[]> {
  const cluster = testEnv.cluster();
  const list = join(cluster.dir, 'loaded.txt');
  const preload = pathToFileURL(fileURLToPath(new URL('./record-modules.ts', import.meta.url))).href;
  const args = ['--import', preload, fileURLToPath(new URL('./record-lines.ts', import.meta.url)), ...lines];
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, NODEPOOL_LOADED: list, XDG_CACHE_HOME: cluster.dir };
  const { code, stderr } = await run(process.execPath, args, { env });
  assert.equal(code, 0, `${lines}: ${stderr}`);
  const urls = readFileSync(list, 'utf8').split('\n');
  const paths = urls.filter(url => url.startsWith(ROOT.href)).map(url => url.slice(ROOT.href.length));
  return [...new Set(paths.map(path => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? path))];
}

test('no command loads modules that it does not need', async () => {
  await testEnv.nodes({ name: 'a', labels: { 'node-role.kubernetes.io/gpu': '' } });
  await testEnv.pool('gpu');
  await testEnv.reconcile('gpu');
  const isOne = (module: string, part: string) =>
    module === part || (part.startsWith('src/') && module.startsWith(part));
  const wrong: string[] = [];
  // What none of some lines may load, all of them together do not load.
  for (const lines of Map.groupBy(Object.keys(MUST_NOT_LOAD), line => String(forbiddenTo(line).toSorted())).values()) {
    const modules = await loadedBy(lines);
    for (const part of forbiddenTo(lines[0] ?? ''))
      wrong.push(...modules.filter(module => isOne(module, part)).map(module => `${lines.join(' | ')}: ${module}`));
  }
  assert.deepEqual(wrong, []);
});

test('the table lists every command', () => {
  const run = new Set(Object.keys(MUST_NOT_LOAD).map(line => line.split(' ', 1)[0]));
  assert.deepEqual(
    Object.keys(commands).filter(name => !run.has(name)),
    [],
  );
});

test('each module in the table exists', () => {
  const sources = projectFiles('src/**/*.ts');
  const parts = [...RARE, ...Object.values(MUST_NOT_LOAD).flat()];
  const missing = parts.filter(part =>
    part.startsWith('src/')
      ? !sources.some(path => path.startsWith(part))
      : !existsSync(new URL(`node_modules/${part}/package.json`, ROOT)),
  );
  assert.deepEqual(missing, []);
});
