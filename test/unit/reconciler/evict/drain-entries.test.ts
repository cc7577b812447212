/** When a node is polled again: the figures of the table of retries in src/reconciler/README.md. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RemovalResult } from '../../../../src/kube/cluster.ts';
import { type NodeDrain, pollDelayMs } from '../../../../src/reconciler/evict/drain-entries.ts';
import { Evictor } from '../../../../src/reconciler/evict/evictor.ts';
import { FakeClock } from '../../controller/fake-clock.ts';
import { BUDGET, drained, pod } from '../drained.ts';

const BUSY: RemovalResult = { kind: 'busy', afterMs: 30_000, message: 'try later' };

for (const [what, answers, leastMs, next] of [
  ['refused by a budget', { a: BUDGET }, 5_000, ['list', 'evict a']],
  ['refused with Retry-After', { a: BUSY }, 30_000, ['list', 'evict a']],
  ['two pods, both refused', { a: BUDGET, b: BUSY }, 5_000, ['list', 'evict a']],
  ['one refused, one terminates', { a: BUDGET, b: { kind: 'accepted' } }, 2_000, ['list']],
  ['a conflict', { a: { kind: 'changed' } }, 2_000, ['list', 'evict a']],
] as [string, Record<string, RemovalResult>, number, string[]][]) {
  const names = Object.keys(answers);
  const pods = names.map(name => pod(name, { labels: { app: name } }));

  test(`polls next after the delay plus at most a quarter: ${what}`, async () => {
    const evictor = new Evictor({ node: 'n1', clock: new FakeClock() });
    const client = { evict: async ({ name }: { name: string }) => answers[name] } as never;
    for (const each of pods) await evictor.ask(each, client);
    const entry = { pods: pods.length, evictor } as NodeDrain;
    assert.deepEqual([pollDelayMs(entry, 0), pollDelayMs(entry, 1)], [leastMs, leastMs * 1.25]);
  });

  test(`applies the jitter once, and that poll handles everything that is due: ${what}`, async () => {
    for (let run = 0; run < 20; run++) {
      const { write, answers: given, clock, writer } = drained(pods);
      for (const [name, answer] of Object.entries(answers)) given.set(name, answer);
      assert.deepEqual(await write(), ['patch n1', 'list', ...names.map(name => `evict ${name}`)]);
      const { afterMs = 0 } = writer.gates.drainer.entries.stateOf(['n1']);
      assert.ok(afterMs >= leastMs && afterMs <= leastMs * 1.25, `${afterMs} ms`);
      await clock.advance(afterMs - 0.5);
      assert.deepEqual(await write(), []);
      await clock.advance(1);
      assert.deepEqual(await write(), next);
    }
  });
}
