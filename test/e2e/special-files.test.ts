/** FIFOs and devices: files named in a kubeconfig must be regular; files named by the user may be pipes. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { dump, load } from 'js-yaml';
import { cli, useCluster } from '../cluster/harness.ts';
import { productCommand } from '../cluster/product.ts';
import { run } from '../cluster/run.ts';
import { poolYaml } from './commands.ts';

const cluster = useCluster({}, async one => {
  assert.equal((await cli(one, ['install'])).code, 0);
});

interface Kubeconfig {
  clusters: { cluster: Record<string, unknown> }[];
  users: { user: Record<string, unknown> }[];
}

async function kubeconfig(name: string, change: (config: Kubeconfig) => void): Promise<string> {
  const config = load(await readFile(cluster().kubeconfig, 'utf8')) as Kubeconfig;
  change(config);
  const file = join(cluster().dir, name);
  await writeFile(file, dump(config));
  return file;
}

test('refuses a FIFO or device in a kubeconfig without waiting for it', async () => {
  const fifo = join(cluster().dir, 'fifo');
  await run('mkfifo', [fifo]);
  const fields = {
    tokenFile: (file: string) =>
      kubeconfig('token', ({ users: [user] }) => Object.assign(user ?? {}, { user: { tokenFile: file } })),
    'client-certificate': (file: string) =>
      kubeconfig('cert', ({ users: [user] }) =>
        Object.assign(user ?? {}, { user: { 'client-certificate': file, 'client-key': file } }),
      ),
    'certificate-authority': (file: string) =>
      kubeconfig('ca', ({ clusters: [one] }) => {
        const { 'certificate-authority-data': _data, ...rest } = one?.cluster ?? {};
        Object.assign(one ?? {}, { cluster: { ...rest, 'certificate-authority': file } });
      }),
  };
  for (const [field, write] of Object.entries(fields)) {
    for (const [file, kind] of [
      [fifo, 'a FIFO'],
      ['/dev/full', 'a device'],
    ] as const) {
      const { code, stderr } = await cli(cluster(), ['get', '--kubeconfig', await write(file)], { timeoutMs: 15_000 });
      assert.equal(code, 1, `${field} ${file}: ${stderr}`);
      const of = field === 'certificate-authority' ? 'cluster' : 'user';
      assert.equal(
        stderr,
        `error: cannot read the ${field} of ${of} "nodepool-demo", ${file}: it is ${kind}, not a regular file; next: correct the path\n`,
      );
    }
  }
});

test('reads kubeconfigs and manifests from process substitution', async () => {
  const pool = join(cluster().dir, 'pool.yaml');
  await writeFile(pool, poolYaml('substituted', '{handler: runc}'));
  const product = productCommand()
    .map(word => `'${word}'`)
    .join(' ');
  const line = `${product} create --kubeconfig <(cat "$CONFIG") -f <(cat "$POOL") && KUBECONFIG=<(cat "$CONFIG") ${product} get -o name`;
  const env = { PATH: process.env.PATH, HOME: cluster().dir, CONFIG: cluster().kubeconfig, POOL: pool };
  const name = 'nodepool.nodes.lailin.xyz/substituted\n';
  assert.deepEqual(await run('bash', ['-c', line], { env }), {
    code: 0,
    stdout: `${name.trim()} created\n${name}`,
    stderr: '',
  });
});
