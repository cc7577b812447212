/** Somebody else repeatedly writes the node between our read and our write. */
import assert from 'node:assert/strict';
import { role } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import type { Asked } from './asked.ts';
import { converged, startChild, useFaultEnv } from './fault-env.ts';
import type { Treatment } from './proxy.ts';
import { row } from './row.ts';

const testEnv = useFaultEnv();
const NODE = '/api/v1/nodes/';

const isNodePatch = ({ method, path }: Asked) => method === 'PATCH' && path.startsWith(NODE);

/** Runs `act` on the node before our write arrives, which then gets a 409. */
function crossed(act: (node: string) => Promise<unknown>): Treatment {
  return async ({ asked, forward, pass }) => {
    await act(asked.path.slice(NODE.length));
    pass(await forward());
  };
}

row(
  {
    fault: '409 storm',
    how: 'another writer adds a taint before each write, more often than a reconcile retries',
    holds: 'every taint of the other writer stays; status 500 meanwhile; the pool converges',
  },
  async (t, facts) => {
    const [proxy, model] = [await testEnv.proxy(t), testEnv.model()];
    await model.addNodes({ name: 'stormy', labels: role('one') }, { name: 'calm', labels: role('one') });
    const child = startChild(t, proxy);
    await child.synced();
    let taints = 0;
    const storm = () => {
      taints += 1;
      return model.taint('stormy', { key: `theirs-${taints}`, effect: 'PreferNoSchedule' });
    };
    const undo = proxy.onRequest(asked =>
      asked.path === `${NODE}stormy` && isNodePatch(asked) ? crossed(storm) : undefined,
    );
    await model.createPool('one', { labels: { tier: 'one' }, taints: [{ key: 'one', effect: 'NoSchedule' }] });
    await eventually('the status tells', async () => (await testEnv.getPool('one'))?.status?.status === 500, 60_000);
    const applied = (await testEnv.getPool('one'))?.status?.conditions?.find(({ type }) => type === 'Applied');
    assert.match(applied?.message ?? '', /somebody else changed node stormy/);
    assert.equal((await testEnv.node('calm')).metadata.labels.tier, 'one', 'others are not kept waiting');
    undo();
    await converged(model, proxy, 60_000);
    assert.ok(taints >= 50);
    facts.foreignTaints = taints;
    facts.lost = 0;
  },
);
