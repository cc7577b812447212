/** A minute of it, always with the same choices; `npm run chaos` takes others, and longer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaos } from './chaos.ts';
import { useFaults } from './world.ts';

const world = useFaults();
const SEED = 14;

test('commands and watches that are killed, rivals and others end where they should', { timeout: 300_000 }, async t => {
  const tell = (line: string) => t.diagnostic(line);
  const counts = await chaos(world.cluster(), { seconds: 60, seed: SEED, nodes: 10, tell });
  assert.ok(counts.commands > 20 && counts.kills > 20, JSON.stringify(counts));
});
