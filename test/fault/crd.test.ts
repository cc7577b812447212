/** The CRD of NodePool is deleted and recreated under a process that watches it. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { cli, kubectl } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { role } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { isList } from './asked.ts';
import type { LiveNode } from './expected.ts';
import { converged, useFaultEnv } from './fault-env.ts';
import { CLASSES, type Model, POOLS, taintId } from './model.ts';
import { auditMark, writes } from './oracle.ts';
import { row } from './row.ts';
import { begin, judge } from './runs.ts';
import { change } from './scenario.ts';

const CRD = 'nodepools.nodes.lailin.xyz';
const PATH = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${CRD}`;
const WITHOUT_MS = 3_000;

const testEnv = useFaultEnv();
const api = () => raw(testEnv.cluster());

/** Whether the API server serves pools. */
const isServed = async () => (await api().request('GET', POOLS)).status === 200;

row(
  {
    fault: 'CRD deleted and recreated',
    slow: true,
    how: 'kubectl delete crd deletes every pool; later the CRD and the pools are recreated',
    holds: 'the nodes are released, and not written afterwards; the controller waits and recovers',
  },
  async (t, facts) => {
    const run = await begin(testEnv, t);
    const { proxy, model, child } = run;

    const specs = [...model.pools];
    const { code, stderr } = await kubectl(testEnv.cluster(), ['delete', 'crd', CRD, '--timeout=30s']);
    assert.equal(code, 0, stderr);
    model.pools.clear();
    await assertFree(model);
    const [mark, asked] = [await auditMark(testEnv.cluster()), proxy.requests.length];
    // Without pools these keys belong to others.
    await model.label('drifts', { tier: 'free' });
    await sleep(WITHOUT_MS);
    assert.ok(child.isAlive, child.log());
    assert.deepEqual(await writes(testEnv.cluster(), mark), {});
    facts.requestsMeanwhile = proxy.requests.slice(asked).length;
    assert.ok(facts.requestsMeanwhile > 0 && facts.requestsMeanwhile < 20, `${facts.requestsMeanwhile} requests`);
    await model.label('drifts', { tier: null });

    assert.equal((await cli(testEnv.cluster(), ['install'])).code, 0);
    for (const [name, spec] of specs) await model.createPool(name, spec);
    await converged(model, proxy, 60_000);
    const again = await auditMark(testEnv.cluster());
    await change(model);
    await judge(testEnv, { ...run, mark: again });
    assert.equal(await child.end(), 0);
  },
);

/** Nodes have only foreign labels and taints, all of them; no RuntimeClass is left. */
async function assertFree({ nodes }: Model): Promise<void> {
  const items = async <T>(path: string) => ((await api().expect('GET', path)) as { items: T[] }).items;
  for (const { metadata, spec } of await items<LiveNode>('/api/v1/nodes')) {
    const { name, labels, annotations = {} } = metadata;
    const foreign = nodes.get(name);
    assert.deepEqual(labels, foreign?.labels, `labels of ${name}`);
    assert.deepEqual((spec.taints ?? []).map(taintId), foreign?.taints.map(taintId), `taints of ${name}`);
    assert.equal(annotations[RECORD_ANNOTATION], undefined, `record of ${name}`);
  }
  assert.deepEqual(await items(CLASSES), []);
}

row(
  {
    fault: 'CRD deleted and recreated',
    how: 'the version of the CRD is not served for a while; the pools still exist',
    holds: 'no node is released; afterwards drift is repaired and counts are right',
  },
  async (t, facts) => {
    const run = await begin(testEnv, t);
    const { proxy, model, child } = run;
    const serve = async (served: boolean) => {
      const patch = [{ op: 'replace', path: '/spec/versions/0/served', value: served }];
      await api().expect('PATCH', PATH, patch, 'application/json-patch+json');
      await eventually(`served: ${served}`, async () => (await isServed()) === served);
    };
    const before = proxy.requests.filter(isList).length;
    await serve(false);
    proxy.cut();
    await sleep(WITHOUT_MS / 2);
    await model.drift('drifts', { tier: 'drifted' });
    await model.removeNode('dies');
    await sleep(WITHOUT_MS);
    assert.ok(child.isAlive, child.log());
    assert.match(child.log(), /nodepools: the server answered 404/);
    assert.deepEqual(await writes(testEnv.cluster(), run.mark), { 'patch nodes drifts': 1 });
    await serve(true);
    await converged(model, proxy, 60_000);
    await model.addNodes({ name: 'dies', labels: role('one') });
    await converged(model, proxy);
    await change(model);
    await judge(testEnv, run);
    facts.lists = proxy.requests.filter(isList).length - before;
    assert.equal(await child.end(), 0);
  },
);
