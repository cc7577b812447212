/** Loaded modules decide the start-up time: for each command, the modules that it must not load. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { projectFiles } from '../../scripts/root.ts';
import { run } from '../cluster/run.ts';
import { useTestEnv } from './test-env.ts';

const ROOT = new URL('../../', import.meta.url);

/** Modules that no run below needs: dashboard, spinner, logins, proxies, drains, controller. */
const NEVER = [
  '@kubernetes/client-node',
  'ink',
  'ora',
  'react',
  'socks',
  'src/view/',
  'src/kube/auth/exec-',
  'src/kube/auth/oidc',
  'src/kube/proxy/socks',
  'src/kube/proxy/tunnel.ts',
  'src/kube/resources/doctor.ts',
  'src/kube/resources/evictions.ts',
  'src/controller/manager.ts',
  'src/controller/reflector.ts',
];
/** Answers without a cluster. */
const OFFLINE = ['@bufbuild/protobuf', 'chalk', 'cli-table3', 'js-yaml'].concat(
  ['controller', 'kube', 'operations', 'reconciler'].map(folder => `src/${folder}/`),
);
/** Commands that only read pools need neither node plans nor the output of other commands. */
const POOLS_ALONE = [
  'cli-table3',
  'src/reconciler/',
  'src/render/describe',
  'src/render/jsonpath/',
  'src/render/nodes.ts',
];
const NO_DRAIN = ['src/operations/drain', 'src/kube/resources/pods-on-node.ts'];
const NO_WRITES = ['src/reconciler/node-writer.ts', 'src/reconciler/reconciler.ts', 'src/reconciler/status-writer.ts'];

const MUST_NOT_LOAD: Record<string, string[]> = {
  '--help': OFFLINE,
  'get --help': OFFLINE,
  'version --client': OFFLINE,
  get: [...POOLS_ALONE, 'src/render/yaml'],
  'get -o name': [...POOLS_ALONE, 'chalk', 'src/render/table.ts', 'src/render/pools.ts'],
  events: [...POOLS_ALONE, 'src/render/pools.ts'],
  top: [...NO_DRAIN, ...NO_WRITES],
  diff: [...NO_DRAIN, ...NO_WRITES, 'src/render/pools.ts'],
  nodes: [...NO_DRAIN, ...NO_WRITES, 'src/kube/protobuf/pod'],
  reconcile: [...NO_DRAIN, 'src/kube/protobuf/pod', 'src/render/yaml'],
  // The first run asks the server, the second one reads the cache.
  '__complete get g': ['@oclif/core', 'chalk', 'src/operations/', 'src/reconciler/', 'src/kube/connect.ts'],
  '__complete get gp': ['@oclif/core', '@bufbuild/protobuf', 'chalk', 'src/operations/', 'src/kube/transport/'],
};

const testEnv = useTestEnv();

/** The project's files by path, and packages by name; node: modules belong to the runtime. */
async function loadedBy(line: string): Promise<string[]> {
  const cluster = testEnv.cluster();
  const list = join(cluster.dir, 'loaded.txt');
  const preload = pathToFileURL(fileURLToPath(new URL('./record-modules.ts', import.meta.url))).href;
  const args = ['--import', preload, fileURLToPath(new URL('bin/dev.ts', ROOT)), ...line.split(' ')];
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, NODEPOOL_LOADED: list, XDG_CACHE_HOME: cluster.dir };
  const { code, stderr } = await run(process.execPath, args, { env });
  assert.ok(code === 0, `${line}: ${stderr}`);
  const urls = readFileSync(list, 'utf8').split('\n');
  const paths = urls.filter(url => url.startsWith(ROOT.href)).map(url => url.slice(ROOT.href.length));
  return [...new Set(paths.map(path => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? path))];
}

test('no command loads modules that it does not need', async () => {
  await testEnv.nodes({ name: 'a', labels: { 'node-role.kubernetes.io/gpu': '' } });
  await testEnv.pool('gpu');
  await testEnv.reconcile('gpu');
  const loaded = new Map<string, string[]>();
  for (const line of Object.keys(MUST_NOT_LOAD)) loaded.set(line, await loadedBy(line));
  const isOne = (module: string, part: string) =>
    module === part || (part.startsWith('src/') && module.startsWith(part));
  const wrong = [...loaded].flatMap(([line, modules]) =>
    [...NEVER, ...(MUST_NOT_LOAD[line] ?? [])].flatMap(part =>
      modules.filter(module => isOne(module, part)).map(module => `${line} loads ${module}`),
    ),
  );
  assert.deepEqual(wrong, []);
});

test('each part that must not be loaded exists', () => {
  const sources = projectFiles('src/**/*.ts');
  const parts = [...NEVER, ...Object.values(MUST_NOT_LOAD).flat()];
  const missing = parts.filter(part =>
    part.startsWith('src/')
      ? !sources.some(path => path.startsWith(part))
      : !existsSync(new URL(`node_modules/${part}/package.json`, ROOT)),
  );
  assert.deepEqual(missing, []);
});
