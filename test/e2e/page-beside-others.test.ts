/** docs/beside-others.md, on a cluster with Karpenter's CRD and a NodePool of Karpenter. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { karpenterCrd } from '../cluster/karpenter.ts';
import { createNodes } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { doctorOf } from './doctoring.ts';
import { followPage, pageShell, readPage } from './page.ts';
import { eventually } from './watching.ts';

const PAGE = 'docs/beside-others.md';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const KARPENTERS = '/apis/karpenter.sh/v1/nodepools';
const KARPENTER_POOL = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'general' },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
      },
    },
  },
};
const NODES = ['ip-10-0-1-7', 'ip-10-0-2-9'].map(name => ({ name, labels: { 'karpenter.sh/nodepool': 'general' } }));

const cluster = useCluster({}, async started => {
  await createNodes(started, NODES);
  await raw(started).expect('POST', CRDS, await karpenterCrd());
  const create = () => raw(started).request('POST', KARPENTERS, KARPENTER_POOL);
  await eventually("Karpenter's NodePool is created", async () => (await create()).status === 201);
});
const { ok } = commandsOf(cluster);
const doctor = doctorOf(cluster);

test(PAGE, { timeout: 300_000 }, async () => {
  const sh = await pageShell(cluster(), await readPage(PAGE));
  await followPage(PAGE, sh);

  const { find } = await doctor();
  const { status, message, remedy } = find('names');
  assert.deepEqual(
    { status, message, remedy },
    {
      status: 'warning',
      message: 'karpenter.sh also serves nodepools: `kubectl get nodepools` may show the other resource',
      remedy: 'with kubectl, use `npool` or `nodepools.nodes.lailin.xyz`',
    },
  );

  // What our messages tell users to type reaches our objects.
  const pool = JSON.stringify({
    apiVersion: 'nodes.lailin.xyz/v1',
    kind: 'NodePool',
    metadata: { name: 'bad' },
    spec: { taints: [{ key: 'a' }] },
  });
  const bad = await sh.both(`echo '${pool}' | kubectl nodepool create -f -`);
  const [, typed = ''] = /`(kubectl explain [^`]+)`/.exec(bad) ?? [];
  assert.match(await sh.both(typed), /^GROUP: +nodes.lailin.xyz$/m, bad);

  // Karpenter's object is as it was, and ours is gone, when ours are deleted.
  const before = await raw(cluster()).expect('GET', `${KARPENTERS}/general`);
  await ok(['uninstall', '--cascade', '--yes']);
  assert.deepEqual(await raw(cluster()).expect('GET', `${KARPENTERS}/general`), before);
});
