/** Watch events that arrive late or never. */
import assert from 'node:assert/strict';
import { role } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { isWatch } from './asked.ts';
import type { LiveClass } from './expected.ts';
import { converged, startChild, useFaultEnv } from './fault-env.ts';
import { CLASSES, type Model } from './model.ts';
import type { FaultProxy } from './proxy.ts';
import { row } from './row.ts';
import { begin, judge } from './runs.ts';
import { change } from './scenario.ts';
import { holdWatches } from './streams.ts';
import { answerWith } from './treatments.ts';

const testEnv = useFaultEnv();
const ONE = { labels: { tier: 'one' }, taints: [{ key: 'one', effect: 'NoSchedule' as const }], handler: 'runc' };

/** Answers with 410 instead of the held events, so that the reflectors relist. */
async function loseHeld(proxy: FaultProxy, release: () => void): Promise<void> {
  const expired = new Set<string>();
  const undo = proxy.onRequest(asked => {
    if (!isWatch(asked) || asked.query.has('sendInitialEvents')) return undefined;
    expired.add(asked.path);
    return answerWith(410, 'too old resource version');
  });
  proxy.cut();
  await eventually('all three ask again', () => expired.size === 3);
  undo();
  release();
}

async function uidOf(kind: 'pool' | 'owner', model: Model): Promise<string | undefined> {
  if (kind === 'pool') return (await testEnv.getPool('one'))?.metadata.uid;
  const { items } = (await model.client.expect('GET', CLASSES)) as {
    items: (LiveClass & { metadata: { ownerReferences?: { uid: string }[] } })[];
  };
  return items.find(({ metadata }) => metadata.name === 'node-pool-one')?.metadata.ownerReferences?.[0]?.uid;
}

row(
  {
    fault: 'missed events',
    how: 'the watches are held during all changes, and their events never arrive (410)',
    holds: 'same end state, no extra create or delete',
  },
  async t => {
    const run = await begin(testEnv, t);
    const hold = holdWatches(run.proxy);
    await change(run.model);
    await eventually('something was held', () => hold.held() >= 10);
    await loseHeld(run.proxy, hold.release);
    await judge(testEnv, run);
  },
);

for (const reported of ['late', 'never'] as const) {
  row(
    {
      fault: 'missed events',
      how: `a node and a pool are recreated; the events ${reported === 'late' ? 'arrive late' : 'never arrive'}`,
      holds: 'the pool converges; the new UIDs are noticed',
    },
    async t => {
      const [proxy, model] = [await testEnv.proxy(t), testEnv.model()];
      await model.addNodes({ name: 'stays', labels: role('one') }, { name: 'again', labels: role('one') });
      await model.createPool('one', ONE);
      const child = startChild(t, proxy);
      await child.synced();
      await converged(model, proxy);

      const hold = holdWatches(proxy);
      await model.addNodes({ name: 'short', labels: role('one') });
      await model.removeNode('short');
      await model.removeNode('again');
      await model.addNodes({ name: 'again', labels: role('one') });
      // Somebody strips the finalizer, so the values of the old pool stay.
      await testEnv.edit('one', { metadata: { finalizers: [] } });
      await model.deletePool('one');
      await model.createPool('one', ONE);
      await eventually('something was held', () => hold.held() >= 6);
      if (reported === 'late') hold.release();
      else await loseHeld(proxy, hold.release);

      await converged(model, proxy);
      assert.equal(await uidOf('owner', model), await uidOf('pool', model), 'the RuntimeClass is of the new pool');
      assert.equal(child.lines(/1 node left: again \(deleted from the cluster\)/).length, 1);
    },
  );
}
