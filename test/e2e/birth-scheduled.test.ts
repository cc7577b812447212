/** 300 nodes register while 600 pods that do not tolerate their pool's taint are pending, beside a real scheduler. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { auditLines } from '../cluster/audit.ts';
import { before } from '../cluster/minor.ts';
import { type NodeSpec, setCondition } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { apply, inForce, POLICY } from './birth.ts';
import { useFullTestEnv } from './full-test-env.ts';
import { GROUP, TAINT } from './kubelet.ts';
import { type LiveNode, taintsOf } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const TEST_MS = 600_000;
const NODES = 300;
const PODS = 600;
const FEW_NODES = 50;
const FEW_PODS = 100;
const SETUP = { key: 'setup', effect: 'NoSchedule' } as const;
const AGENT = { key: 'agent', effect: 'NoSchedule', until: { nodeCondition: 'AgentReady' } } as const;
/** The scheduler tries such a pod before the hundreds that fit nowhere. */
const FIRST = { priorityClassName: 'system-node-critical' };
const PODS_PATH = '/api/v1/namespaces/default/pods';

interface Pod {
  metadata: { name: string };
  spec: { nodeName?: string };
}

const skip = before(36, 'MutatingAdmissionPolicy is not in v1');

describe('nodes that register while pods are pending', { skip }, () => {
  const testEnv = useFullTestEnv({ audit: true, auditCreated: ['nodes'] });
  const api = () => raw(testEnv.cluster());
  const nodes: NodeSpec[] = Array.from({ length: NODES }, (_, at) => ({ name: `n${at}`, labels: { [GROUP]: 'one' } }));

  const createPod = (name: string, more: object = {}) =>
    api().expect('POST', PODS_PATH, {
      metadata: { name },
      spec: { containers: [{ name: 'main', image: 'registry.example.com/main:1' }], ...more },
    });
  const pending = async (count: number): Promise<void> => {
    await api().deleteAll(PODS_PATH);
    await eventually('no pods', async () => (await list('limit=1')).length === 0, 120_000);
    const names = Array.from({ length: count }, (_, at) => `p${at}`).values();
    await Promise.all(
      Array.from({ length: 32 }, async () => {
        for (const name of names) await createPod(name);
      }),
    );
  };
  const list = async (query: string) =>
    ((await api().expect('GET', `${PODS_PATH}?${query}`)) as { items: Pod[] }).items;
  /** Polls read one pod: a list of all of them, 40 times a second, would take the CPU that the scheduler needs. */
  const isBound = async (name: string) =>
    ((await api().expect('GET', `${PODS_PATH}/${name}`)) as Pod).spec.nodeName !== undefined;
  const bound = async () => {
    const items = await list('limit=5000');
    const on = items.filter(({ spec }) => spec.nodeName !== undefined).map(({ metadata }) => metadata.name);
    return { all: items.length, on };
  };

  test('with the policy and no controller, nodes register complete and get no pods', {
    timeout: TEST_MS,
  }, async t => {
    await apply(testEnv.cluster(), POLICY);
    await testEnv.pool('one', {
      nodeSelector: { [GROUP]: 'one' },
      labels: { tier: 'gold' },
      taints: [TAINT],
      annotations: { note: 'x' },
      startupTaints: [AGENT, SETUP],
    });
    await inForce(testEnv, 'one', { [GROUP]: 'one' });
    await pending(PODS);
    await testEnv.nodes(...nodes);
    const first = (await auditLines(testEnv.cluster()))
      .map(
        line =>
          JSON.parse(line) as {
            verb: string;
            requestURI: string;
            objectRef?: { resource: string };
            responseObject?: LiveNode;
          },
      )
      .filter(
        ({ verb, objectRef, requestURI }) =>
          verb === 'create' && objectRef?.resource === 'nodes' && !requestURI.includes('dryRun'),
      );
    assert.equal(first.length, NODES);
    for (const { responseObject: node } of first) {
      assert.ok(node !== undefined);
      const missing = ['dedicated=pci:NoSchedule', 'agent:NoSchedule', 'setup:NoSchedule'].filter(
        taint => !taintsOf(node).includes(taint),
      );
      assert.deepEqual(missing, [], node.metadata.name);
      assert.deepEqual([node.metadata.labels.tier, node.metadata.annotations?.note], ['gold', 'x']);
    }
    // The scheduler has seen the last node, too: a pod that tolerates the taint is bound there.
    const last = { 'kubernetes.io/hostname': `n${NODES - 1}` };
    await createPod('tolerates', { nodeSelector: last, tolerations: [{ operator: 'Exists' }], ...FIRST });
    await eventually('a pod that tolerates the taint is bound', () => isBound('tolerates'), 240_000);
    // A pod of the pool waits for the agents of its node: one is lifted by the condition, the other by its agent.
    const node = `n${NODES - 2}`;
    const ofPool = { ...TAINT, operator: 'Equal' };
    await createPod('of-pool', { nodeSelector: { 'kubernetes.io/hostname': node }, tolerations: [ofPool], ...FIRST });
    await sleep(5_000);
    assert.deepEqual(await bound(), { all: PODS + 2, on: ['tolerates'] });
    const left = taintsOf(await testEnv.node(node)).length;
    await startWatching(t, testEnv.cluster());
    const written = async () => (await testEnv.getPool('one'))?.status?.updatedNodeCount;
    await eventually('each node has its record', async () => (await written()) === NODES, 240_000);
    await setCondition(testEnv.cluster(), node, 'AgentReady', 'True');
    await eventually('the agent taint is lifted', async () => {
      const taints = taintsOf(await testEnv.node(node));
      return taints.length === left - 1 && !taints.includes('agent:NoSchedule');
    });
    assert.ok(!(await bound()).on.includes('of-pool'));
    const { taints } = (await testEnv.node(node)).spec;
    await testEnv.patchNode(node, { spec: { taints: taints?.filter(({ key }) => key !== SETUP.key) } });
    await eventually('the pod of the pool is bound', () => isBound('of-pool'), 120_000);
    assert.deepEqual((await bound()).on.toSorted(), ['of-pool', 'tolerates']);
  });

  test('without the policy, pods are bound before the controller sets the taint', { timeout: TEST_MS }, async t => {
    await api().expect(
      'DELETE',
      '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies/born-in-pool.nodes.lailin.xyz',
    );
    await testEnv.pool('one', { nodeSelector: { [GROUP]: 'one' }, taints: [TAINT] });
    await startWatching(t, testEnv.cluster());
    // Enough to show it: the policy is what the many nodes are for.
    await pending(FEW_PODS);
    await testEnv.nodes(...nodes.slice(0, FEW_NODES));
    const withNode = 'fieldSelector=spec.nodeName%21%3D&limit=1';
    await eventually('some are bound', async () => (await list(withNode)).length > 0, 120_000);
    const { on } = await bound();
    t.diagnostic(`${on.length} of ${FEW_PODS} pods were bound`);
  });
});
