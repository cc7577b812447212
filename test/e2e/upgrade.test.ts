/**
 * An upgrade from each version in written-by/: of the objects that it wrote, this program writes none, and it knows what
 * to take back. `UPDATE_OBJECTS=1 npm test -- e2e/upgrade` writes the file of the current version.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { nodeObject } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf, stateOf } from './commands.ts';
import { type LiveNode, taintsOf, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';
import { LEASE, NODES, restoreObjects, type Stored, writeObjects } from './written-by.ts';

const FOLDER = new URL('written-by/', import.meta.url);
const REVISIONS = '/apis/apps/v1/namespaces/default/controllerrevisions';
const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, unchanged } = commandsOf(cluster);

if (process.env.UPDATE_OBJECTS === '1') {
  test('writes the objects of this version', t => writeObjects(t, testEnv, FOLDER));
} else {
  for (const file of readdirSync(FOLDER)) {
    test(`accepts objects that ${file.replace('.yaml', '')} wrote`, async t => {
      const objects = await restoreObjects(cluster(), readFileSync(new URL(file, FOLDER), 'utf8'));
      await ok(['install']);
      const before = await stateOf(cluster());
      const { code, stdout } = await unchanged(['diff']);
      assert.equal(code, 0, stdout);
      const watching = await startWatching(t, cluster(), '--leader-elect');
      await eventually('it leads', () => / became leader: /.test(watching.log()));
      const old = objects.find(({ kind }) => kind === 'Lease')?.spec?.leaseTransitions as number;
      const lease = (await raw(cluster()).expect('GET', LEASE)) as Stored;
      assert.equal(lease.spec?.leaseTransitions, old + 1);
      // The later change shows that all pools were reconciled.
      await testEnv.edit('strip', { spec: { labels: { last: 'yes' } } });
      await eventually('a change is applied', async () => (await testEnv.node('strip-1')).metadata.labels.last);
      assert.equal(await watching.end('SIGTERM'), 0);
      assert.match(
        (await unchanged(['reconcile'])).stdout,
        /^gpu +Ready .*\nml +Conflict .*\nstrip +Ready .*\ntiered +Ready /,
      );
      const changed = (state: Record<string, string[]>) =>
        Object.entries(state)
          // Pools without a revision get their first.
          .flatMap(([path, names]) => (path === REVISIONS ? [] : names))
          .filter(name => !name.startsWith('strip'));
      const after = await stateOf(cluster());
      assert.deepEqual(changed(after), changed(before), 'only what was changed is written');
      const [had = [], has = []] = [before, after].map(state => state[REVISIONS]);
      assert.deepEqual(
        had.filter(name => !has.includes(name)),
        [],
        'revisions stay as they are',
      );

      await testEnv.edit('gpu', { spec: { labels: { old: null } } });
      await testEnv.reconcile();
      assert.equal((await testEnv.node('gpu-2')).metadata.labels.old, undefined, 'no longer set by the pool');
      await testEnv.delete(['gpu', 'ml', 'strip', 'tiered']);
      for (const spec of NODES) {
        const node = await testEnv.node(spec.name);
        const first = nodeObject(spec) as unknown as LiveNode;
        assert.deepEqual(node.metadata.labels, first.metadata.labels, `${spec.name} is as before it joined`);
        assert.deepEqual(taintsOf(node).toSorted(), taintsOf(first).toSorted(), spec.name);
      }
      assert.equal(await testEnv.runtimeClass('gpu'), undefined);
    });
  }
}
