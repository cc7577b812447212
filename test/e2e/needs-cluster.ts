/** A cluster on which each command of needs-runs.ts finds what it needs. */
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { raw } from '../cluster/raw.ts';
import type { Pods } from './draining.ts';
import { role, type TestEnv } from './test-env.ts';

/** For `fit -f`. */
export const POD_FILE = join(tmpdir(), `nodepool-needs-${process.pid}.json`);
/** For `fit -f`, with a rule that names the revision. */
export const DEPLOYMENT_FILE = join(tmpdir(), `nodepool-needs-${process.pid}-deployment.json`);
export const SET_FILE = join(tmpdir(), `nodepool-needs-${process.pid}-set.json`);
const POD_SPEC = { containers: [{ name: 'c', image: 'i' }] };

const OLD = { key: 'k', value: 'old', effect: 'NoExecute' as const };

export async function fillCluster(testEnv: TestEnv, pods: Pods): Promise<void> {
  await testEnv.nodes(
    { name: 'a', labels: role('one') },
    { name: 'b', labels: role('two') },
    { name: 'c' },
    { name: 'd', labels: { own: 'd' } },
    { name: 'e' },
    { name: 'h', labels: role('drifted') },
    { name: 'j', labels: role('drains') },
    ...['f', 'g'].map(name => ({ name, taints: [OLD] })),
    { name: 'i', labels: { group: 'i' }, taints: [{ key: 'k', effect: 'NoSchedule' }] },
    ...['both', 'z'].map(grp => ({ name: grp, labels: { grp } })),
    ...['w', 'x'].map(grp => ({ name: grp, labels: { 'node-restriction.kubernetes.io/grp': grp } })),
  );
  await testEnv.pool('one', { labels: { tier: 'gold' } });
  await testEnv.pool('two');
  await testEnv.pool('drifted', { labels: { tier: 'gold' } });
  await testEnv.pool('classy', { handler: 'runc' });
  await testEnv.reconcile('drifted', 'classy');
  await testEnv.patchNode('h', { metadata: { labels: { tier: 'mine' } } });
  await stop(testEnv, 'stopped');
  await testEnv.pool('left', { nodeSelector: { grp: 'both' } });
  await testEnv.pool('right', { nodeSelector: { grp: 'both' }, handler: 'runc' });
  await testEnv.pool('rolled', { rollout: {}, paused: true });
  await undoable(testEnv);
  await fittingPods(testEnv);
  await pods.daemonSet('agent');
  await pods.pod({ name: 'daemon', node: 'a', owner: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent' } });
  await pods.pod({ name: 'evicted', node: 'a' });
  await pods.pod({ name: 'deleted', node: 'b' });
  await pods.pod({ name: 'drained', node: 'j' });
}

/** On no node: one that fits, one with a claim, one that is near pods of any namespace, one that asks for a device. */
async function fittingPods(testEnv: TestEnv): Promise<void> {
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'missing' } }];
  const term = { topologyKey: 'x', labelSelector: {}, namespaceSelector: {} };
  const affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
  const requests = { 'example.com/gpu': '1' };
  const containers = [{ name: 'c', image: 'i', resources: { requests, limits: requests } }];
  for (const [name, more] of [
    ['fitting'],
    ['stored', { volumes }],
    ['near', { affinity }],
    ['device', { containers }],
  ] as [string, object?][]) {
    const body = { metadata: { name }, spec: { ...POD_SPEC, ...more } };
    await raw(testEnv.cluster()).expect('POST', '/api/v1/namespaces/default/pods', body);
  }
  await writeFile(POD_FILE, JSON.stringify({ kind: 'Pod', metadata: { name: 'new' }, spec: POD_SPEC }));
  const labelSelector = { matchLabels: { app: 'new' } };
  const spread = {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector,
  };
  for (const [file, kind, key] of [
    [DEPLOYMENT_FILE, 'Deployment', 'pod-template-hash'],
    [SET_FILE, 'StatefulSet', 'controller-revision-hash'],
  ] as const) {
    const topologySpreadConstraints = [{ ...spread, matchLabelKeys: [key] }];
    const template = { metadata: { labels: { app: 'new' } }, spec: { ...POD_SPEC, topologySpreadConstraints } };
    await writeFile(file, JSON.stringify({ kind, metadata: { name: 'new' }, spec: { template } }));
  }
  after(() => Promise.all([POD_FILE, DEPLOYMENT_FILE, SET_FILE].map(file => rm(file, { force: true }))));
}

/** A pool with a history and without a rollout, for which the watch would read it. */
async function undoable(testEnv: TestEnv): Promise<void> {
  await testEnv.nodes({ name: 'u', labels: { grp: 'u' } });
  await testEnv.pool('undone', { rollout: {}, nodeSelector: { grp: 'u' }, taints: [OLD] });
  for (const spec of [{ taints: null }, { handler: 'runc' }, { labels: { last: 'x' }, rollout: null }]) {
    await testEnv.reconcile('undone');
    await testEnv.edit('undone', { spec });
  }
  await testEnv.reconcile('undone');
}

/** A pool whose status says that its rollout is stopped. */
async function stop(testEnv: TestEnv, name: string): Promise<void> {
  await testEnv.pool(name);
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  const condition = {
    type: 'Progressing',
    status: 'False',
    reason: 'RolloutStopped',
    message: 'x',
    lastTransitionTime,
  };
  const status = { status: 200, nodeCount: 0, conditions: [condition] };
  const path = `/apis/nodes.lailin.xyz/v1/nodepools/${name}/status`;
  await raw(testEnv.cluster()).expect('PATCH', path, { status }, 'application/merge-patch+json');
}
