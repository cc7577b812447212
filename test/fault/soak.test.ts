/** Half a minute of soak, with a new seed each time; `npm run soak` takes longer. */
import { test } from 'node:test';
import { useFaultEnv } from './fault-env.ts';
import { soak } from './soak.ts';

const testEnv = useFaultEnv({ own: true });

test('converges after random faults and changes', { timeout: 300_000 }, async t => {
  const seed = Math.floor(Math.random() * 1_000_000);
  const tell = (line: string) => t.diagnostic(line);
  await soak(testEnv.cluster(), { seconds: 30, seed, nodes: 60, tell }).catch((error: unknown) => {
    throw new Error(`seed ${seed}; again by: npm run soak -- --minutes 0.5 --nodes 60 --seed ${seed}`, {
      cause: error,
    });
  });
});
