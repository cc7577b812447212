/** Startup taints while `reconcile --watch` is killed repeatedly, and agents remove taints and report conditions. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { RECORD_ANNOTATION, type Taint } from '../../src/nodepool/types.ts';
import { createNodes, setCondition } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { role } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { type Asked, isReconcileWrite } from './asked.ts';
import { startChild } from './child.ts';
import { type LiveNode, readLive } from './expected.ts';
import { useFaultEnv } from './fault-env.ts';
import { limitWrites } from './limit-writes.ts';
import { taintId } from './model.ts';
import { nodeHistory } from './node-history.ts';
import { seeded } from './random.ts';
import { row } from './row.ts';

const testEnv = useFaultEnv();
const NODES = 120;
const KILLS = 12;
const THEIRS: Taint = { key: 'theirs', effect: 'NoSchedule' };
const SETUP: Taint = { key: 'setup', effect: 'NoSchedule' };
const AGENT: Taint = { key: 'agent', value: 'starting', effect: 'NoSchedule' };
const [AGENT_ID, SETUP_ID, THEIRS_ID] = [AGENT, SETUP, THEIRS].map(taintId);
const POOL = { startupTaints: [{ ...AGENT, until: { nodeCondition: 'AgentReady' } }, SETUP], labels: { tier: 'p' } };
/** Of all nodes, those whose agent becomes ready. */
const hasAgent = (index: number) => index % 2 === 0;
/** And those whose setup taint somebody removes. */
const isSetUp = (index: number) => index % 3 === 0;
const nameOf = (index: number) => `n${index}`;
const isNodeWrite = (asked: Asked) => isReconcileWrite(asked) && asked.path.startsWith('/api/v1/nodes/');

const idsOf = ({ spec }: LiveNode) => (spec.taints ?? []).map(taintId).toSorted();
const startupOf = ({ metadata }: LiveNode): Record<string, string | null> | undefined =>
  JSON.parse(metadata.annotations?.[RECORD_ANNOTATION] ?? '{}').startup;
const nodes = async () => (await readLive(testEnv.model())).nodes;

/** Removes the setup taint as an agent does, once it is there. */
async function removeSetup(name: string): Promise<void> {
  const api = raw(testEnv.cluster());
  const path = `/api/v1/nodes/${name}`;
  for (;;) {
    const { metadata, spec } = (await api.expect('GET', path)) as LiveNode & { metadata: { resourceVersion: string } };
    const left = (spec.taints ?? []).filter(taint => taintId(taint) !== SETUP_ID);
    if (left.length === spec.taints?.length) {
      await sleep(20);
      continue;
    }
    const patch = { metadata: { resourceVersion: metadata.resourceVersion }, spec: { taints: left } };
    const { status } = await api.request('PATCH', path, patch);
    if (status < 300) return;
    assert.equal(status, 409);
  }
}

/** What happens on a new node: at once, before the pool knows it, or later. */
async function live(index: number, random: () => number): Promise<void> {
  const name = nameOf(index);
  const report = (status: 'True' | 'False') => setCondition(testEnv.cluster(), name, 'AgentReady', status);
  await sleep(random() * 8_000);
  if (hasAgent(index)) {
    if (random() < 0.3) await report('False');
    await report('True');
    // It flaps: once lifted, the taint stays away.
    if (random() < 0.5) for (const status of ['False', 'True'] as const) await report(status);
  }
  if (isSetUp(index)) await removeSetup(name);
}

row(
  {
    fault: 'killed during its writes',
    how: `SIGKILL ${KILLS} times while ${NODES} nodes get startup taints, and agents remove them`,
    holds: 'no startup taint is given twice, and none stays after the node leaves or the pool is deleted',
    timeout: 600_000,
    slow: true,
  },
  async (t, facts) => {
    const random = seeded(Number(process.env.SEED ?? 7));
    const history = await nodeHistory(t, testEnv.cluster());
    await testEnv.pool('p', POOL);
    const lives: Promise<void>[] = [];
    const members = async () => (await nodes()).filter(node => startupOf(node) !== undefined).length;
    let halfway = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const proxy = await testEnv.proxy(t);
      const child = startChild(t, proxy, '--resync', '1s');
      await child.synced();
      const each = NODES / KILLS;
      await eventually('those of the last kill have joined', async () => (await members()) === kill * each);
      const limit = limitWrites(proxy, 1 + (kill % (each - 1)), isNodeWrite);
      const indexes = Array.from({ length: each }, (_, at) => kill * each + at);
      await createNodes(
        testEnv.cluster(),
        indexes.map(index => ({ name: nameOf(index), labels: role('p'), taints: [THEIRS] })),
      );
      lives.push(...indexes.map(index => live(index, random)));
      await eventually('some have joined', limit.reached);
      await child.end('SIGKILL');
      if ((await members()) < (kill + 1) * each) halfway += 1;
    }
    const last = startChild(t, testEnv.cluster(), '--resync', '1s');
    await Promise.all(lives);
    const wanted = (index: number) =>
      [...(hasAgent(index) ? [] : [AGENT_ID]), ...(isSetUp(index) ? [] : [SETUP_ID]), THEIRS_ID].toSorted();
    const indexOf = ({ metadata }: LiveNode) => Number(metadata.name.slice(1));
    const wrong = async () => (await nodes()).filter(node => String(idsOf(node)) !== String(wanted(indexOf(node))));
    await eventually('every node has what nobody removed', async () => (await wrong()).length === 0);
    // Some resyncs.
    await sleep(3_000);
    assert.deepEqual(
      (await wrong()).map(({ metadata }) => metadata.name),
      [],
    );
    for (const node of await nodes()) {
      const index = indexOf(node);
      const record = {
        [AGENT_ID ?? '']: hasAgent(index) ? null : 'starting',
        [SETUP_ID ?? '']: isSetUp(index) ? null : '',
      };
      assert.deepEqual(startupOf(node), record, node.metadata.name);
    }

    const off = { metadata: { labels: { 'node-role.kubernetes.io/p': null } } };
    const leaving = (await nodes()).filter(node => indexOf(node) % 5 === 0);
    for (const { metadata } of leaving) await testEnv.patchNode(metadata.name, off);
    const isFree = (node: LiveNode) => String(idsOf(node)) === THEIRS_ID && startupOf(node) === undefined;
    await eventually('none is left after relabelling', async () =>
      (await nodes()).filter(node => indexOf(node) % 5 === 0).every(isFree),
    );
    await last.end('SIGKILL');
    await testEnv.delete(['p']);
    assert.ok((await nodes()).every(isFree), 'none is left after deletion');

    const newest = (await testEnv.node(nameOf(NODES - 1))).metadata.resourceVersion;
    await history.sees(newest);
    const ours = [...history.given].filter(([key]) => !key.endsWith(` ${THEIRS_ID}`));
    assert.deepEqual(
      ours.filter(([, times]) => times > 1),
      [],
      'none was given twice',
    );
    Object.assign(facts, { kills: KILLS, halfway, given: ours.length });
    assert.equal(halfway, KILLS, 'each kill was between the writes of nodes that join');
    assert.ok(ours.length > NODES * 1.3, `${ours.length} given`);
  },
);
