/** What a verb loads is what its start costs: each run's list stands in loaded-modules.txt, and none grows unseen. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { run } from '../cluster/run.ts';
import { useWorld } from './world.ts';

const SNAPSHOT = new URL('./loaded-modules.txt', import.meta.url);
const ROOT = new URL('../../', import.meta.url);
const RUNS = [
  '--help',
  'get --help',
  'version --client',
  'get',
  'get -o name',
  'events',
  'top',
  'diff',
  'nodes',
  'reconcile',
  // The first asks the server, the second its cache.
  '__complete get g',
  '__complete get gp',
];

const world = useWorld();

/** Our own files, and how many of each package: node:'s own modules belong to the runtime. */
async function loadedBy(line: string): Promise<string[]> {
  const cluster = world.cluster();
  const list = join(cluster.dir, 'loaded.txt');
  const preload = pathToFileURL(fileURLToPath(new URL('./record-modules.ts', import.meta.url))).href;
  const args = ['--import', preload, fileURLToPath(new URL('bin/dev.ts', ROOT)), ...line.split(' ')];
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, NODEPOOL_LOADED: list, XDG_CACHE_HOME: cluster.dir };
  const { code, stderr } = await run(process.execPath, args, { env });
  assert.ok(code === 0, `${line}: ${stderr}`);
  const urls = [...new Set(readFileSync(list, 'utf8').split('\n'))];
  const own = urls.filter(url => url.startsWith(ROOT.href)).map(url => url.slice(ROOT.href.length));
  const packages = own.flatMap(path => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
  const files = own.filter(path => path.startsWith('src/'));
  const counts = [...Map.groupBy(packages, name => name)].map(([name, { length }]) => `${name} (${length})`);
  return [...files.toSorted(), ...counts.toSorted()];
}

// It may grow on purpose: UPDATE_LOADED=1 npm test -- loaded-modules
test('each verb loads what it needs and no more', async () => {
  await world.nodes({ name: 'a', labels: { 'node-role.kubernetes.io/gpu': '' } });
  await world.pool('gpu');
  await world.reconcile('gpu');
  const blocks: string[] = [];
  for (const line of RUNS) blocks.push([line, ...(await loadedBy(line))].join('\n  '));
  const actual = `${blocks.join('\n\n')}\n`;
  if (process.env.UPDATE_LOADED) writeFileSync(SNAPSHOT, actual);
  assert.equal(actual, readFileSync(SNAPSHOT, 'utf8'));
});
