import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkOnMain } from '../../../scripts/check-tag.ts';
import { neededBy, release } from './workflows.ts';

test('refuses a commit that is not on main', t => {
  const folder = mkdtempSync(join(tmpdir(), 'nodepool-tag-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', ...args], {
      cwd: folder,
      stdio: 'pipe',
    });
  git('init', '--quiet');
  git('commit', '--quiet', '--allow-empty', '--message=merged');
  assert.throws(() => checkOnMain(folder), /origin\/main/);
  git('update-ref', 'refs/remotes/origin/main', 'HEAD');
  checkOnMain(folder);
  git('commit', '--quiet', '--allow-empty', '--message=not merged');
  assert.throws(() => checkOnMain(folder), /the tagged commit is not on main/);
  git('update-ref', 'refs/remotes/origin/main', 'HEAD');
  git('checkout', '--quiet', '--detach', 'HEAD~1');
  checkOnMain(folder);
});

test('publishing waits for the tag check and an approval', () => {
  const { on, jobs } = release;
  assert.deepEqual(on, { push: { tags: ['v*'] } });
  const steps = jobs.build?.steps ?? [];
  const check = steps.findIndex(({ run = '' }) => run.includes('scripts/check-tag.ts "$GITHUB_REF_NAME"'));
  assert.ok(check > 0);
  // Without the history no commit would be found on main.
  assert.equal(steps[0]?.with?.['fetch-depth'], 0);
  const unapproved = Object.keys(jobs).filter(name => jobs[name]?.environment !== 'release');
  assert.deepEqual(unapproved, ['build', 'real-nodes', 'start']);
  for (const name of Object.keys(jobs)) {
    if (!unapproved.includes(name)) assert.ok(neededBy(name).includes('build'), name);
  }
});
