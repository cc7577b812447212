/** manifests/born-in-pool.yaml while the controller, the API server, the policy or its parameters fail. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { cli } from '../cluster/harness.ts';
import { before } from '../cluster/minor.ts';
import { raw } from '../cluster/raw.ts';
import { apply, inForce, POLICY } from '../e2e/birth.ts';
import { GROUP } from '../e2e/kubelet.ts';
import { eventually } from '../e2e/watching.ts';
import { type Asked, isReconcileWrite } from './asked.ts';
import {
  AGENT_ID,
  births,
  current,
  FREE,
  MEMBER,
  nodeVersions,
  notFree,
  POOL,
  register,
  SETUP_ID,
  STARTUP_IDS,
  valuesOf,
  WHOLE,
} from './births.ts';
import { startChild } from './child.ts';
import { type Test, useFaultEnv } from './fault-env.ts';
import type { History } from './history.ts';
import { limitWrites } from './limit-writes.ts';
import { seeded } from './random.ts';
import { type Row, row } from './row.ts';
import { judgeStartup } from './startup-judge.ts';

const testEnv = useFaultEnv({ own: true, apiserverFlags: ['--enable-admission-plugins=NodeRestriction'] });
const SKIP = before(36, 'MutatingAdmissionPolicy is not in v1');
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.nodes.lailin.xyz';
const POLICIES = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies';
const NAME = 'born-in-pool.nodes.lailin.xyz';
const OFF = { metadata: { labels: { [GROUP]: null } } };
const FLAGS = ['--resync', '1s'];
const isNodeWrite = (asked: Asked) => isReconcileWrite(asked) && asked.path.startsWith('/api/v1/nodes/');

const birthRow = (how: string, holds: string, body: Parameters<typeof row>[1], more: Partial<Row> = {}) => {
  if (SKIP === false) row({ fault: 'registration of nodes', how, holds, timeout: 400_000, ...more }, body);
};

/** Policy and pool, in force. */
async function begin(t: Test): Promise<History> {
  await apply(testEnv.cluster(), POLICY, 'manifests/protect-records.yaml', 'manifests/protect-membership.yaml');
  await testEnv.pool('p', POOL);
  await inForce(testEnv, 'p', MEMBER);
  return nodeVersions(testEnv, t);
}

/** Resolves once the history is complete. */
async function complete(history: History): Promise<void> {
  const { items } = (await raw(testEnv.cluster()).expect('GET', '/api/v1/nodes')) as {
    items: { metadata: { resourceVersion: string } }[];
  };
  const newest = Math.max(...items.map(({ metadata }) => Number(metadata.resourceVersion)));
  await history.sees(String(newest));
}

/** Asserts that all nodes have joined, no value of the pool counts as displaced, and none is left after its deletion. */
async function judgeEnd(history: History, names: readonly string[]): Promise<void> {
  const joined = () =>
    [...current(history)].filter(([, { record, birthRecord }]) => record?.pool === 'p' && !birthRecord);
  await eventually('all nodes have joined', () => joined().length === names.length, 90_000);
  for (const [name, { record }] of joined()) assert.equal(record?.displaced, undefined, name);
  // The connection may date from before the server was killed.
  const isDeleted = async () =>
    (await testEnv.getPool('p')) === undefined ||
    (await testEnv.delete(['p'])).every(({ error, outcome }) => error === undefined && outcome?.failures.length === 0);
  await eventually('the pool is deleted', isDeleted, 60_000);
  await complete(history);
  assert.deepEqual(notFree(history), [], 'all is released');
}

/** The names of nodes that registered without values of the pool; fails if a node has only some of them. */
function bornFree(history: History): string[] {
  const all = births(history);
  const half = all.filter(({ state }) => ![WHOLE, FREE].includes(valuesOf(state)));
  assert.deepEqual(half, [], 'given all or nothing');
  return all.filter(({ state }) => valuesOf(state) === FREE).map(({ name }) => name);
}

/** Ten nodes a second, until end(). */
function arrive() {
  const [names, registered]: [string[], Promise<number[]>[]] = [[], []];
  let isOver = false;
  const arriving = (async () => {
    for (; !isOver; await sleep(100)) {
      const name = `n${names.length}`;
      names.push(name);
      registered.push(register(testEnv, name));
    }
  })();
  return {
    /** Resolves when all have registered. */
    async end() {
      isOver = true;
      await arriving;
      return { names, refused: (await Promise.all(registered)).flat() };
    },
  };
}

const [NODES, KILLS] = [60, 12];

birthRow(
  `SIGKILL ${KILLS} times while ${NODES} kubelets register nodes, agents remove startup taints, and some nodes leave`,
  'each node registers at once with all values of the pool; no startup taint is given twice; the values go with the pool',
  async (t, facts) => {
    const random = seeded(Number(process.env.SEED ?? 7));
    const history = await begin(t);
    const model = testEnv.model();
    const names = Array.from({ length: NODES }, (_, at) => `n${at}`);
    const leaves = (at: number) => at % 10 === 9;
    const live = async (name: string, at: number) => {
      // Some while no controller runs, the others together, right before the kill.
      if (at % 5 === 0) await sleep(random() * 1_500);
      assert.deepEqual(await register(testEnv, name), []);
      if (leaves(at)) await testEnv.patchNode(name, OFF);
      await sleep(random() * 1_500);
      if (at % 2 === 0) for (const status of ['True', 'False'] as const) await model.report(name, 'AgentReady', status);
      if (at % 2 === 0) await model.report(name, 'AgentReady', 'True');
      if (at % 3 === 0) await model.removeStartup(name, [SETUP_ID]);
    };
    const lives: Promise<void>[] = [];
    let halfway = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const proxy = await testEnv.proxy(t);
      const child = startChild(t, proxy, ...FLAGS);
      await child.synced();
      const each = NODES / KILLS;
      const withBirthRecord = () => [...current(history).values()].filter(({ birthRecord }) => birthRecord).length;
      await eventually('those of the last kill are written', () => withBirthRecord() === 0);
      // Between the writes of two of them, or at any time.
      const limit = kill % 2 === 0 ? limitWrites(proxy, 2, isNodeWrite) : undefined;
      lives.push(...names.slice(kill * each, (kill + 1) * each).map((name, at) => live(name, kill * each + at)));
      if (limit === undefined) await sleep(random() * 100);
      else await eventually('two are written', limit.reached);
      await child.end('SIGKILL');
      if (limit === undefined) continue;
      await eventually('others have registered', () => withBirthRecord() > 0);
      halfway++;
    }
    await Promise.all(lives);
    const last = startChild(t, testEnv.cluster(), ...FLAGS);
    const stay = names.filter((_, at) => !leaves(at));
    const wanted = (at: number) => [...(at % 2 === 0 ? [] : [AGENT_ID]), ...(at % 3 === 0 ? [] : [SETUP_ID])].sort();
    const isRight = (name: string) => {
      const [at, state] = [Number(name.slice(1)), current(history).get(name)];
      const startup = [...(state?.taints.keys() ?? [])].filter(id => STARTUP_IDS.has(id)).sort();
      return leaves(at) ? !notFree(history).includes(name) : String(startup) === String(wanted(at));
    };
    await eventually('every node has what nobody removed', () => names.every(isRight), 90_000);
    await sleep(3_000);
    assert.deepEqual(
      names.filter(name => !isRight(name)),
      [],
      'after some resyncs',
    );
    await last.end('SIGKILL');
    for (const name of names.filter((_, at) => leaves(at)))
      await raw(testEnv.cluster()).expect('DELETE', `/api/v1/nodes/${name}`);
    await judgeEnd(history, stay);
    assert.deepEqual(bornFree(history), [], 'each was born complete');
    const { given, born } = judgeStartup(history.nodes(), STARTUP_IDS);
    assert.deepEqual([given, born], [2 * NODES, NODES]);
    Object.assign(facts, { kills: KILLS, halfway, born });
  },
  { slow: true },
);

birthRow(
  'the API server is killed while kubelets register nodes',
  'every node registers with all values of the pool or none; no startup taint is given twice',
  async (t, facts) => {
    const history = await begin(t);
    startChild(t, testEnv.cluster(), ...FLAGS);
    const arrivals = arrive();
    const whole = (from: number) => () =>
      births(history)
        .slice(from)
        .some(({ state }) => valuesOf(state) === WHOLE);
    await eventually('nodes are born in the pool', whole(0));
    await testEnv.cluster().stopApiserver();
    await testEnv.cluster().startApiserver();
    const start = performance.now();
    await eventually('nodes are born in the pool again', whole(births(history).length), 60_000);
    const secondsWithoutBirths = Math.round((performance.now() - start) / 1000);
    const { names, refused } = await arrivals.end();
    await judgeEnd(history, names);
    const free = bornFree(history);
    const { born } = judgeStartup(history.nodes(), STARTUP_IDS);
    Object.assign(facts, {
      refused: refused.length,
      born,
      bornWithNothing: free.length,
      secondsWithoutBirths,
    });
  },
);

birthRow(
  'the policy fails, then the policy, its pool and the CRD are deleted, while kubelets register nodes',
  'every node registers with all values of the pool or none; no startup taint is given twice',
  async (t, facts) => {
    const api = raw(testEnv.cluster());
    const history = await begin(t);
    let child = startChild(t, testEnv.cluster(), ...FLAGS);
    await child.synced();
    const arrivals = arrive();
    const bornSince = async (what: string, is: string, many: number) => {
      const from = births(history).length;
      const since = () => births(history).slice(from);
      await eventually(what, () => since().filter(({ state }) => valuesOf(state) === is).length >= many, 90_000);
    };
    await bornSince('nodes are born in the pool', WHOLE, 5);

    const { spec } = (await api.expect('GET', `${POLICIES}/${NAME}`)) as { spec: { variables: { name: string }[] } };
    const variables = spec.variables.map(each =>
      each.name === 'name' ? { ...each, expression: "object.metadata.labels['none']" } : each,
    );
    await api.expect('PATCH', `${POLICIES}/${NAME}`, { spec: { variables } });
    await bornSince('the policy fails', FREE, 5);
    await api.expect('PATCH', `${POLICIES}/${NAME}`, { spec: { variables: spec.variables } });
    await bornSince('nodes are born in the pool again', WHOLE, 5);

    // With a birth record and nobody who has read it: the pool is deleted meanwhile.
    await child.end('SIGKILL');
    await bornSince('nodes have birth records', WHOLE, 5);
    child = startChild(t, testEnv.cluster(), ...FLAGS);
    await api.expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/p');
    await eventually('the pool is gone', async () => (await testEnv.getPool('p')) === undefined);
    await bornSince('no pool gives anything', FREE, 5);
    await eventually('what it gave is gone', () => notFree(history).length === 0, 60_000);
    await testEnv.pool('p', POOL);
    await bornSince('nodes are born in the new pool', WHOLE, 5);

    await api.expect('DELETE', CRD);
    await eventually('the CRD is gone', async () => (await api.request('GET', CRD)).status === 404, 60_000);
    await eventually('what the pools gave is gone', () => notFree(history).length === 0, 60_000);
    assert.equal((await cli(testEnv.cluster(), ['install'])).code, 0);
    await testEnv.pool('p', POOL);
    await api.expect('DELETE', `${POLICIES}/${NAME}`);
    await bornSince('the policy is gone', FREE, 20);
    const { names, refused } = await arrivals.end();
    await judgeEnd(history, names);
    const free = bornFree(history);
    const { born } = judgeStartup(history.nodes(), STARTUP_IDS);
    Object.assign(facts, { refused: refused.length, born, bornWithNothing: free.length });
  },
);
