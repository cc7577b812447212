/** Output that cannot be written: each command exits with its code for errors, which diff and fit use for nothing else. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { productCommand } from '../cluster/product.ts';
import { run } from '../cluster/run.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();

test('diff and fit exit with 2, other commands with 1, when output cannot be written', async () => {
  await testEnv.nodes({ name: 'a', labels: role('w') });
  await testEnv.pool('w', { labels: { tier: '1' } });
  const { kubeconfig } = testEnv.cluster();
  const cases: [args: string, expected: number][] = [
    ['diff', 2],
    ['diff -o json', 2],
    ['fit --cpu 1 --memory 1Gi', 2],
    ['get', 1],
  ];
  for (const [args, expected] of cases) {
    const line = `${productCommand().join(' ')} ${args} > /dev/full`;
    const { code, stderr } = await run('sh', ['-c', line], { env: { ...process.env, KUBECONFIG: kubeconfig } });
    assert.equal(code, expected, `${args}: ${stderr}`);
    assert.match(stderr, /^error: cannot write the output: .*ENOSPC/m, args);
  }
});

/** A disk of one page in a mount namespace of its own: of a longer output, the first write takes a part. */
const ON_SMALL_DISK = 'mount -t tmpfs -o size=4k none /mnt && ';
const canMount = spawnSync('unshare', ['--mount', 'sh', '-c', `${ON_SMALL_DISK}true`]).status === 0;

test('exit codes are the same when the disk fills up during the output', {
  skip: !canMount && 'needs to mount a tmpfs',
}, async () => {
  const labels = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`example.com/l${at}`, 'x'.repeat(60)]));
  await testEnv.nodes({ name: 'a', labels: role('w') });
  await testEnv.pool('w', { labels });
  const { kubeconfig } = testEnv.cluster();
  const manifest = JSON.stringify({
    ...{ apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name: 'v' } },
    spec: { nodeSelector: role('v'), labels },
  });
  const cases: [args: string, expected: number][] = [
    ['get -o json', 1],
    ['create -f - --dry-run=client -o json', 1],
    ['diff -o json', 2],
  ];
  for (const [args, expected] of cases) {
    const line = `${ON_SMALL_DISK}${productCommand().join(' ')} ${args} > /mnt/out`;
    const env = { ...process.env, KUBECONFIG: kubeconfig };
    const { code, stderr } = await run('unshare', ['--mount', 'sh', '-c', line], { env, stdin: manifest });
    assert.equal(code, expected, `${args}: ${stderr}`);
    assert.match(stderr, /^error: cannot write the output: .*ENOSPC/m, args);
  }
});
