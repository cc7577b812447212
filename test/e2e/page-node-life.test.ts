/** docs/node-life.md. */
import { test } from 'node:test';
import { before } from '../cluster/minor.ts';
import { inForce } from './birth.ts';
import { followPage, pageShell, readPage } from './page.ts';
import { useTestEnv } from './test-env.ts';

const PAGE = 'docs/node-life.md';
const GROUP = { 'example.com/group': 'web' };
const testEnv = useTestEnv();

test('node-life.md shows what its commands print', {
  skip: before(36, 'MutatingAdmissionPolicy is not in v1'),
  timeout: 300_000,
}, async () => {
  await testEnv.nodes({ name: 'spare-1', labels: { tier: 'spare' } });
  const shell = await pageShell(testEnv.cluster(), await readPage(PAGE));
  await followPage(PAGE, {
    ...shell,
    async both(script) {
      // The server evaluates a new policy and a new pool a moment later.
      if (script.includes('node.yaml')) await inForce(testEnv, 'web', GROUP);
      return shell.both(script);
    },
  });
});
