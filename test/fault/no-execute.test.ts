/** `noExecute: Drain` while `reconcile --watch` is killed repeatedly, and a budget allows one eviction after the other. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { isWrite, readAudit } from '../cluster/audit.ts';
import { createNodes } from '../cluster/nodes.ts';
import { poolsWithPods } from '../e2e/draining.ts';
import { role, taintsOf } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { startChild } from './child.ts';
import { useFaultEnv } from './fault-env.ts';
import { seeded } from './random.ts';
import { row } from './row.ts';

const testEnv = useFaultEnv();
const pods = poolsWithPods(testEnv);
const NODES = 6;
const PODS = 12;
const WEB = { app: 'web' };
const names = Array.from({ length: NODES }, (_, at) => `n${at}`);

row(
  {
    fault: 'killed during its writes',
    how: `SIGKILL ${PODS} times while the pods of ${NODES} nodes are evicted before a NoExecute taint`,
    holds:
      'never more evictions than the budget allows; each node gets its taint by two writes, after its pods are gone',
    timeout: 400_000,
  },
  async (t, facts) => {
    const random = seeded(Number(process.env.SEED ?? 7));
    await createNodes(
      testEnv.cluster(),
      names.map(name => ({ name, labels: role('p') })),
    );
    await testEnv.pool('p', { noExecute: 'Drain' });
    await testEnv.reconcile();
    for (let at = 0; at < PODS; at++)
      await pods.pod({ name: `p${at}`, node: `n${at % NODES}`, labels: WEB, graceSeconds: 0 });
    await pods.budget('web', WEB, 0);
    const since = (await readAudit(testEnv.cluster())).length;
    const writes = async (resource: string) =>
      (await readAudit(testEnv.cluster()))
        .slice(since)
        .filter(event => event.resource === resource && isWrite(event) && event.userAgent.includes('nodepool'));
    // The server may finish what it tells nobody: the client was killed.
    const isDone = ({ code }: { code: number }) => code < 300;
    const mayBeDone = (event: { code: number }) => isDone(event) || event.code === 504 || event.code === 0;
    const assertEvicted = async (gone: number) => {
      const asked = await writes('pods/eviction');
      const [least, most] = [isDone, mayBeDone].map(is => new Set(asked.filter(is).map(({ name }) => name)).size);
      assert.ok(Number(least) <= gone && gone <= Number(most), `${gone} pods are gone, ${least} to ${most} evicted`);
    };
    await testEnv.edit('p', { spec: { taints: [{ key: 'dedicated', value: 'x', effect: 'NoExecute' }] } });
    const tainted = async () => {
      const all = await Promise.all(
        names.map(async name => [name, taintsOf(await testEnv.node(name)).join()] as const),
      );
      return all.filter(([, taints]) => taints === 'dedicated=x:NoExecute').map(([name]) => name);
    };
    let halfway = 0;
    for (let kill = 1; kill <= PODS; kill++) {
      const child = startChild(t, testEnv.cluster());
      await child.synced();
      const before = (await pods.names()).length;
      await pods.budget('web', WEB, 1);
      const isEvicted = async () => {
        const left = await pods.names();
        if (left.length < before) return true;
        await pods.giveBack('web', left);
        return false;
      };
      if (kill % 3 === 0) await eventually('a pod is evicted', isEvicted);
      await sleep(random() * 1_500);
      await child.end('SIGKILL');
      const left = await pods.names();
      await assertEvicted(PODS - left.length);
      assert.ok(left.length >= PODS - kill, `${PODS - left.length} evictions, and ${kill} were allowed`);
      if (left.length > 0 && left.length < PODS) halfway++;
      const busy = new Set(left.map(name => `n${Number(name.slice(1)) % NODES}`));
      assert.deepEqual(
        (await tainted()).filter(name => busy.has(name)),
        [],
        'a taint with pods',
      );
    }
    const last = startChild(t, testEnv.cluster());
    await last.synced();
    await pods.budget('web', WEB, PODS);
    await eventually('every node has the taint', async () => (await tainted()).length === NODES, 120_000);
    await last.end();
    assert.deepEqual(await pods.names(), []);
    await assertEvicted(PODS);
    const patches = (await writes('nodes')).filter(mayBeDone);
    for (const name of names) {
      const ofNode = patches.filter(patch => patch.name === name);
      const most = `${name}: ${ofNode.map(({ code }) => code).join()}`;
      assert.ok(ofNode.filter(isDone).length <= 2 && ofNode.length >= 2, most);
    }
    Object.assign(facts, { kills: PODS, halfway, evictions: PODS });
    assert.ok(halfway > PODS / 3, `${halfway} kills between evictions`);
  },
);
