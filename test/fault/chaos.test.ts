/** Half a minute of chaos, always with the same seed; `npm run chaos` runs others, and longer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaos } from './chaos.ts';
import { nextCommand } from './chaos-commands.ts';
import { useFaultEnv } from './fault-env.ts';
import { seeded } from './random.ts';

const testEnv = useFaultEnv({ own: true });
const SEED = 14;

test('converges after random commands, watches, kills and foreign writes', { timeout: 300_000 }, async t => {
  const tell = (line: string) => t.diagnostic(line);
  const counts = await chaos(testEnv.cluster(), { seconds: 30, seed: SEED, nodes: 10, tell });
  assert.ok(counts.commands > 5 && counts.kills > 5, JSON.stringify(counts));
});

test('the same seed makes the same choices, and another seed makes others', () => {
  const choices = (seed: number) => {
    const random = seeded(seed);
    return Array.from({ length: 100 }, () => nextCommand(random, ['node-1', 'node-2', 'node-3']));
  };
  assert.deepEqual(choices(SEED), choices(SEED));
  assert.notDeepEqual(choices(SEED), choices(SEED + 1));
});
