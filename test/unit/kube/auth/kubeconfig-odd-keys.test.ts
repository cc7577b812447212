/** Map keys that Object.prototype has too. */
import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadAccess } from '../../../../src/kube/auth/kubeconfig.ts';

const KEYS = ['constructor', '__proto__'];

test('sends --as-user-extra', async () => {
  const kubeconfig = join(mkdtempSync(join(tmpdir(), 'nodepool-')), 'config');
  const clusters = [{ name: 'c', cluster: { server: 'https://127.0.0.1' } }];
  const contexts = [{ name: 'c', context: { cluster: 'c', user: 'u' } }];
  await writeFile(
    kubeconfig,
    JSON.stringify({ 'current-context': 'c', clusters, contexts, users: [{ name: 'u', user: {} }] }),
  );
  const asUserExtra = KEYS.flatMap(key => [`${key}=1`, `${key}=2`]);
  const { user } = loadAccess({ kubeconfig, env: {}, as: 'x', asUserExtra });
  assert.deepEqual(
    Object.entries(user.asUserExtra ?? {}),
    KEYS.map(key => [key, ['1', '2']]),
  );
});
