/** The cached copy of Bun, which is part of every executable. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { bunOf, cachedPackage } from '../../scripts/package/bun.ts';
import { BUN_VERSION, hostTarget } from '../../scripts/package/targets.ts';
import { temporaryFolder } from './copy.ts';

const host = hostTarget();

test('hashes the cached copy again and uses it only if the pinned hash matches', {
  timeout: 300_000,
}, async t => {
  const folder = await temporaryFolder(t);
  const bun = await bunOf(host, folder);
  const { stdout } = await promisify(execFile)(bun, ['--version']);
  assert.equal(stdout.trim(), BUN_VERSION);

  const env = { XDG_CACHE_HOME: await temporaryFolder(t) };
  const cached = cachedPackage(host, env);
  const bytes = await readFile(cachedPackage(host, process.env));
  await mkdir(dirname(cached), { recursive: true });
  const [good, bad] = [await temporaryFolder(t), await temporaryFolder(t)];
  await writeFile(cached, bytes);
  await bunOf(host, good, env);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  await writeFile(cached, bytes);
  await assert.rejects(bunOf(host, bad, env), (error: Error) =>
    error.message.startsWith(`${cached} is not the package`),
  );
  assert.deepEqual(await readdir(bad), []);
});
