/** The executable for musl. It is started in the release's workflow, on Alpine. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { buildExecutable } from '../../scripts/package/executable.ts';
import { TARGETS } from '../../scripts/package/targets.ts';
import { neededBy } from './elf.ts';

const LOADERS = { amd64: 'x86_64', arm64: 'aarch64' };

test('needs only musl and the C++ library, as the docs say', { timeout: 300_000 }, async () => {
  const targets = TARGETS.filter(({ libc }) => libc === 'musl');
  assert.deepEqual(
    targets.map(({ arch }) => arch),
    ['amd64', 'arm64'],
  );
  for (const target of targets) {
    const name = LOADERS[target.arch];
    assert.deepEqual(neededBy(await readFile(await buildExecutable(target))), {
      libraries: ['libstdc++.so.6', `libc.musl-${name}.so.1`],
      loader: `/lib/ld-musl-${name}.so.1`,
    });
  }
});
