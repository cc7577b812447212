/** Policies, webhooks or controllers that revert node writes as often as they are made. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { cli } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { nodeRefusal, whileRefusing } from '../e2e/refusal.ts';
import { condition, role } from '../e2e/test-env.ts';
import { eventually, startWatching } from '../e2e/watching.ts';
import { startChild, type Test, useFaultEnv } from './fault-env.ts';
import { type Mutation, type Mutator, mutatingPolicy, mutatingWebhook, type Probe } from './mutating.ts';
import { auditMark, writes } from './oracle.ts';
import { row } from './row.ts';

const testEnv = useFaultEnv();
const RIVALS = ['label', 'record', 'taint', 'hook'];
const WATCHED_MS = 8_000;

const TAINT = '{"key": "rival", "effect": "NoSchedule"}';
const MUTATIONS: Record<string, Mutation> = {
  label: {
    patchType: 'ApplyConfiguration',
    applyConfiguration: { expression: 'Object{metadata: Object.metadata{labels: {"tier": "theirs"}}}' },
  },
  record: {
    patchType: 'JSONPatch',
    jsonPatch: {
      expression: `has(object.metadata.annotations) && "${RECORD_ANNOTATION}" in object.metadata.annotations
        ? [JSONPatch{op: "remove", path: "/metadata/annotations/" + jsonpatch.escapeKey("${RECORD_ANNOTATION}")}]
        : []`,
    },
  },
  taint: {
    patchType: 'JSONPatch',
    jsonPatch: {
      expression: `!has(object.spec.taints) ? [JSONPatch{op: "add", path: "/spec/taints", value: [${TAINT}]}]
        : object.spec.taints.exists(taint, taint.key == "rival") ? []
        : [JSONPatch{op: "add", path: "/spec/taints/-", value: ${TAINT}}]`,
    },
  },
  // Keys that no pool sets belong to the policy.
  calm: {
    patchType: 'ApplyConfiguration',
    applyConfiguration: { expression: 'Object{metadata: Object.metadata{labels: {"team": "theirs"}}}' },
  },
};
const PROBES: Record<string, Omit<Probe, 'node'>> = {
  label: { patch: { metadata: { labels: { tier: 'x' } } }, isChanged: ({ metadata }) => metadata.labels?.tier !== 'x' },
  record: {
    patch: { metadata: { annotations: { [RECORD_ANNOTATION]: 'x' } } },
    isChanged: ({ metadata }) => metadata.annotations?.[RECORD_ANNOTATION] === undefined,
  },
  taint: {
    patch: { spec: { taints: [] } },
    isChanged: ({ spec }) => spec.taints?.some(({ key }) => key === 'rival') === true,
  },
  hook: { patch: { metadata: { labels: { tier: 'x' } } }, isChanged: ({ metadata }) => metadata.labels?.tier !== 'x' },
  calm: { patch: { metadata: { labels: { team: 'x' } } }, isChanged: ({ metadata }) => metadata.labels?.team !== 'x' },
};
const MESSAGES: Record<string, RegExp> = {
  label:
    /an admission policy or webhook changed .* during the write: label tier was sent with value "ours" and is "theirs"/,
  record:
    /an admission policy or webhook changed .* during the write: annotation nodes\.lailin\.xyz\/applied was removed/,
  taint: /an admission policy or webhook changed .* during the write: taint rival:NoSchedule was added with value ""/,
  hook: /an admission policy or webhook changed .* during the write: label tier was sent with value "ours" and is "theirs"/,
};

/** Two nodes and a pool for each rival, and for a policy that changes foreign keys. */
async function prepare(t: Test): Promise<Mutator[]> {
  const names = [...RIVALS, 'calm'];
  await testEnv.nodes(...names.flatMap(name => ['a', 'b'].map(at => ({ name: `${name}-${at}`, labels: role(name) }))));
  const mutators: Mutator[] = [];
  for (const name of names) {
    const options = { prefix: name, probe: { node: `${name}-a`, ...(PROBES[name] ?? assert.fail()) } };
    const mutation = MUTATIONS[name];
    const mutator =
      mutation === undefined
        ? await mutatingWebhook(testEnv.cluster(), name, { ...options, label: 'tier', value: 'theirs' })
        : await mutatingPolicy(testEnv.cluster(), name, { ...options, mutation });
    t.after(() => mutator.end());
    mutators.push(mutator);
  }
  for (const name of names) {
    await testEnv.pool(name, { labels: { tier: 'ours' }, ...(name === 'taint' ? { unmanaged: 'Remove' } : {}) });
  }
  return mutators;
}

async function nodeWrites(mark: number): Promise<Record<string, number>> {
  const all = Object.entries(await writes(testEnv.cluster(), mark));
  return Object.fromEntries(
    all.filter(([what]) => what.startsWith('patch nodes ')).map(([what, count]) => [what.slice(12), count]),
  );
}

row(
  {
    fault: 'rival writers on the server',
    how: 'policies and a webhook change a label, the record or the taints of each write, in reconcile',
    holds: 'at most two writes of each node; status 500 names key, values and writer; other pools are not affected',
  },
  async (t, facts) => {
    await prepare(t);
    const mark = await auditMark(testEnv.cluster());
    const { code, stderr } = await cli(testEnv.cluster(), ['reconcile']);
    const counts = await nodeWrites(mark);
    assert.deepEqual([counts['calm-a'], counts['calm-b']], [1, 1]);
    assert.ok(Math.max(...Object.values(counts)) <= 2, JSON.stringify(counts));
    facts.mostWritesOfANode = Math.max(...Object.values(counts));
    assert.equal(code, 1, stderr);
    for (const name of RIVALS) {
      const pool = await testEnv.getPool(name);
      assert.equal(pool?.status?.status, 500, name);
      assert.match(condition(pool, 'Applied').message, MESSAGES[name] ?? assert.fail());
      assert.match(stderr, new RegExp(`error: ${name}: .*an admission policy or webhook changed `));
    }
    assert.match(stderr, /next: .*kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations/);
    assert.doesNotMatch(stderr, /somebody else/);
    assert.equal((await testEnv.getPool('calm'))?.status?.status, 200);
    assert.equal((await testEnv.node('calm-a')).metadata.labels.tier, 'ours');
  },
);

row(
  {
    fault: 'rival writers on the server',
    slow: true,
    how: 'the same in reconcile --watch, with a controller that always reverts a label; later all stop',
    holds: 'at most 10 writes of each node in a minute; status 500 names key and writer; the pool recovers',
  },
  async (t, facts) => {
    const mutators = await prepare(t);
    await testEnv.nodes({ name: 'fought', labels: role('fought') }, { name: 'late', labels: {} });
    await testEnv.pool('fought', { labels: { tier: 'ours' } });
    const mark = await auditMark(testEnv.cluster());
    const child = startChild(t, testEnv.cluster());
    await child.synced(100_000);
    const began = performance.now();
    let isFighting = true;
    const fight = (async () => {
      while (isFighting) {
        const { labels } = (await testEnv.node('fought')).metadata;
        const path = '/api/v1/nodes/fought?fieldManager=rival-operator';
        const body = { metadata: { labels: { tier: 'theirs' } } };
        if (labels.tier === 'ours') await raw(testEnv.cluster()).expect('PATCH', path, body);
      }
    })();
    await sleep(WATCHED_MS);
    await eventually('the limit is reached', async () => (await testEnv.getPool('fought'))?.status?.status === 500);

    const counts = await nodeWrites(mark);
    const { fought = 0, ...others } = counts;
    assert.equal(fought, 10, 'the limit of a minute');
    // After 1 s, 2 s, 4 s and so on, from the first write, which was after the start.
    const most = Math.floor(Math.log2((performance.now() - began) / 1000 + 2)) + 1;
    assert.ok(Math.max(...Object.values(others)) <= most, JSON.stringify(counts));
    assert.deepEqual([counts['calm-a'], counts['calm-b']], [1, 1]);
    facts.mostWritesOfOthers = Math.max(...Object.values(others));
    facts.writesOfTheFoughtNode = fought;
    for (const name of RIVALS) {
      const pool = await testEnv.getPool(name);
      assert.equal(pool?.status?.status, 500, name);
      assert.match(condition(pool, 'Applied').message, MESSAGES[name] ?? assert.fail());
    }
    const pool = await testEnv.getPool('fought');
    assert.equal(pool?.status?.status, 500);
    assert.match(
      condition(pool, 'Applied').message,
      /; node fought reached the limit of 10 writes within a minute: something else \(field manager rival-operator\) keeps changing label tier from "ours" to "theirs"$/,
    );
    const statusWrites = (await writes(testEnv.cluster(), mark))['patch nodepools/status fought'] ?? 0;
    assert.ok(statusWrites <= 3, `${statusWrites} writes of the status`);
    // Other pools are not delayed.
    await testEnv.patchNode('late', { metadata: { labels: role('calm') } });
    await eventually('a node joins', async () => (await testEnv.node('late')).metadata.labels.tier === 'ours', 20_000);

    isFighting = false;
    await fight;
    await Promise.all(mutators.map(mutator => mutator.end()));
    const ended = performance.now();
    for (const name of [...RIVALS, 'fought']) {
      const isNormal = async () => (await testEnv.getPool(name))?.status?.status === 200;
      await eventually(`${name} recovers; ${child.log().slice(-2000)}`, isNormal, 100_000);
      const node = name === 'fought' ? 'fought' : `${name}-b`;
      assert.equal((await testEnv.node(node)).metadata.labels.tier, 'ours');
    }
    facts.recoveredAfterSeconds = Math.round((performance.now() - ended) / 1000);
    assert.equal(await child.end(), 0);
  },
);

row(
  {
    fault: 'rival writers on the server',
    how: 'a policy refuses to release one node of a pool that is being deleted',
    holds: 'status 500 and the metrics show it; the deletion ends when the policy is gone',
  },
  async (t, facts) => {
    await testEnv.nodes({ name: 'a', labels: role('w') }, { name: 'b', labels: role('w') });
    await testEnv.pool('w', { labels: { tier: 'gold' } });
    const watching = await startWatching(t, testEnv.cluster(), '--metrics-bind-address', '127.0.0.1:0');
    const address = /metrics on (http:\S+)/.exec(watching.log())?.[1];
    const metrics = async () => (await fetch(`${address}/metrics`)).text();
    await eventually('the nodes have the label', async () => (await testEnv.getPool('w'))?.status?.nodeCount === 2);
    const tries = () => watching.log().match(/cannot patch Node "b"/g)?.length ?? 0;
    await whileRefusing(testEnv.cluster(), nodeRefusal('b'), async () => {
      const mark = await auditMark(testEnv.cluster());
      await raw(testEnv.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/w');
      await eventually('the metrics say so', async () => /nodepool_status_code\{pool="w"\} 500/.test(await metrics()));
      assert.match(await metrics(), /nodepool_nodes\{pool="w"\} 1\n/);
      const before = tries();
      await testEnv.edit('w', { metadata: { annotations: { again: '1' } } });
      await eventually('it is tried again', () => tries() > before);
      facts.statusWrites = (await writes(testEnv.cluster(), mark))['patch nodepools/status w'] ?? 0;
      assert.equal(facts.statusWrites, 1);
    });
    await testEnv.edit('w', { metadata: { annotations: { again: '2' } } });
    await eventually('it is gone', async () => (await testEnv.getPool('w')) === undefined);
    assert.equal('tier' in (await testEnv.node('b')).metadata.labels, false);
  },
);
