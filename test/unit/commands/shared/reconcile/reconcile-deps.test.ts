import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Connection, Deps } from '../../../../../src/cli/factory.ts';
import { reconcileDeps } from '../../../../../src/commands/shared/reconcile/reconcile-deps.ts';
import { testIo } from '../../../cli/test-io.ts';

test('the spinner counts nodes, and later shows nodes per second', async () => {
  const shown: string[] = [];
  let ms = 0;
  const io = { ...testIo(), now: () => new Date(ms) };
  const progress = async () => ({ update: (text: string) => void shown.push(text), stop() {} });
  const work = await reconcileDeps({ io, progress } as unknown as Deps, {} as Connection, 'Reconciling', {
    concurrency: 4,
  });
  work.progress?.planned(4);
  work.progress?.done();
  ms = 2000;
  work.progress?.done();
  assert.deepEqual(shown, ['Reconciling: 0/4 nodes', 'Reconciling: 1/4 nodes', 'Reconciling: 2/4 nodes, 1/s']);
});

test('a question that ends after the run leaves no spinner', async () => {
  let spinning = 0;
  const progress = async () => {
    spinning++;
    return { update() {}, stop: () => void spinning-- };
  };
  const io = testIo();
  const work = await reconcileDeps({ io, progress } as unknown as Deps, {} as Connection, 'Reconciling', {
    concurrency: 4,
  });
  const question = Promise.withResolvers<void>();
  const asking = work.aside(() => question.promise);
  assert.equal(spinning, 0, 'none while it asks');
  work.stop();
  question.resolve();
  await asking;
  assert.ok(spinning <= 0, 'none afterwards');
});
