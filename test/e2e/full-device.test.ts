/** Output that cannot be written: the exit code is the command's own for an error, which of diff and fit is no answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { productCommand } from '../cluster/product.ts';
import { run } from '../cluster/run.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();

test('diff and fit exit with 2, others with 1, when their output cannot be written', async () => {
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
