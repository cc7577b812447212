/** The reflector alone behind the proxy: its exact requests after a fault, and its events. */
import assert from 'node:assert/strict';
import { afterEach } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes, deleteNodes, labelNode } from '../cluster/nodes.ts';
import { until } from '../e2e/admin-transport.ts';
import { type Following, follow, judge } from './following.ts';
import { row } from './row.ts';
import { cutNextLine, forgeNextLine } from './streams.ts';

const cluster = useCluster();
afterEach(() => deleteNodes(cluster()));

for (const how of ['RST', 'FIN'] as const) {
  row(
    {
      fault: 'connection cut inside a line',
      how: `one watch is cut inside a line, by ${how}`,
      holds: 'the watch resumes at the last resourceVersion',
    },
    async (t, facts) => {
      await createNodes(cluster(), [{ name: 'a' }]);
      const following = await follow(t, cluster());
      const { proxy, reported, log, lists, versions } = following;
      const cut = cutNextLine(proxy, how);
      await labelNode(cluster(), 'a', { changed: 'yes' });
      await cut;
      await until(() => reported.length === 2);
      assert.deepEqual(reported, ['added a', 'updated a']);
      assert.equal(versions().length, 2);
      assert.equal(versions()[1], versions()[0]);
      assert.equal(lists(), 1);
      assert.match(log.join(), /next attempt in (0\.[89]|1\.[0-6]) s/);
      facts.relists = lists() - 1;
      await judge(following, 'a');
    },
  );
}

/** Inserts each before the next event of node a, which must still arrive. */
async function forgeInTurn({ proxy, reported }: Following, texts: readonly string[]): Promise<void> {
  for (const [index, forged] of texts.entries()) {
    const forging = forgeNextLine(proxy, forged);
    await labelNode(cluster(), 'a', { round: String(index) });
    await forging;
    await until(() => reported.length === 2 + index);
  }
}

row(
  {
    fault: 'invalid watch lines and bodies',
    how: 'a watch in protobuf gets an invalid frame and an HTML page',
    holds: 'both are logged; no change is lost',
  },
  async t => {
    await createNodes(cluster(), [{ name: 'a' }]);
    const following = await follow(t, cluster());
    const { log, lists } = following;
    // As a frame of protobuf: one of 5 bytes, and one that would never end.
    await forgeInTurn(following, ['\0\0\0\u0005hello', '<html>\n']);
    assert.ok(log.length >= 2, log.join('\n'));
    assert.equal(lists(), 1);
    await judge(following, 'a');
  },
);
