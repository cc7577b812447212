import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { withLock } from '../../cluster/lock.ts';

const folder = await mkdtemp(join(tmpdir(), 'lock-test-'));
after(() => rm(folder, { recursive: true, force: true }));

test('has one holder at a time, and is removed afterwards', async () => {
  const path = join(folder, 'exclusive');
  let inside = 0;
  let most = 0;
  let waited = 0;
  const work = async () => {
    inside += 1;
    most = Math.max(most, inside);
    await sleep(20);
    inside -= 1;
  };
  await Promise.all([1, 2, 3].map(() => withLock(path, work, () => (waited += 1))));
  assert.equal(most, 1);
  assert.equal(waited, 2);
  assert.equal(existsSync(path), false);
});

test('releases the lock when the holder fails, and passes the error on', async () => {
  const path = join(folder, 'failing');
  await assert.rejects(
    withLock(path, async () => Promise.reject(new Error('broken'))),
    /broken/,
  );
  assert.equal(existsSync(path), false);
});

test('takes over the lock of an ended process at once', async () => {
  const path = join(folder, 'dead');
  const { pid } = spawnSync('true');
  await writeFile(path, `${pid} ${hostname()} some-id\n`);
  assert.equal(await withLock(path, async () => 'done', fail), 'done');
});

test('takes over a lock that was not renewed for long, from any holder', async () => {
  const path = join(folder, 'old');
  await writeFile(path, `1 another-host some-id\n`);
  const past = new Date(Date.now() - 31_000);
  await utimes(path, past, past);
  assert.equal(await withLock(path, async () => 'done', fail), 'done');
});

test('respects a recent lock of another machine with any process id', async () => {
  const path = join(folder, 'foreign');
  await writeFile(path, `${spawnSync('true').pid} another-host some-id\n`);
  const waiting = Promise.withResolvers<void>();
  const result = withLock(path, async () => 'done', waiting.resolve);
  await Promise.race([waiting.promise, result.then(() => assert.fail('it did not wait'))]);
  await rm(path);
  assert.equal(await result, 'done');
});

function fail(): void {
  assert.fail('it waited');
}
