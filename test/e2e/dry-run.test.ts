/** A server dry run of each command that writes, on a cluster where each of these writes is due, does not change etcd. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FINALIZER } from '../../src/nodepool/types.ts';
import { readAudit } from '../cluster/audit.ts';
import { writtenKeys } from '../cluster/etcd-keys.ts';
import { cliHere, useCluster } from '../cluster/harness.ts';
import { createNodes, type NodeSpec } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { role } from './test-env.ts';

const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';

const cluster = useCluster({ crd: true, audit: true }, prepare);
const api = () => raw(cluster());

async function pool(name: string, spec: object, metadata: object = {}): Promise<void> {
  const body = { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name, ...metadata }, spec };
  await api().expect('POST', POOLS, body);
}

const nodes: NodeSpec[] = [
  { name: 'fresh-1', labels: role('fresh') },
  { name: 'selector-1', labels: role('selector') },
  { name: 'handler-1', labels: role('handler') },
  { name: 'no-handler-1', labels: role('no-handler') },
  { name: 'inherited-1', labels: { ...role('inherited'), tier: 'old' } },
  { name: 'free-1', labels: { grp: 'free' } },
  { name: 'cordoned-1', labels: role('cordoned'), unschedulable: true },
];

async function prepare(): Promise<void> {
  await createNodes(cluster(), nodes);
  for (const name of ['selector', 'handler', 'no-handler', 'cordoned', 'marked']) await pool(name, { handler: 'runc' });
  assert.equal((await cliHere(cluster(), ['reconcile'])).code, 0);
  // Its RuntimeClass is patched, replaced, which keeps what others set, deleted; the pool is released.
  const labels = { team: 'a' };
  await api().expect('PATCH', '/apis/node.k8s.io/v1/runtimeclasses/node-pool-handler', { metadata: { labels } });
  const edits = { selector: { taints: [{ key: 'k', effect: 'NoSchedule' }] }, handler: { handler: 'gvisor' } };
  for (const [name, spec] of Object.entries(edits)) await api().expect('PATCH', `${POOLS}/${name}`, { spec });
  await api().expect('PATCH', `${POOLS}/no-handler`, { spec: { handler: null } });
  await api().expect('DELETE', `${POOLS}/marked`);
  // A status and a finalizer without a record: a pool of the earlier operator.
  await pool('inherited', { labels: { tier: 'old' } }, { finalizers: [FINALIZER] });
  await api().expect('PATCH', `${POOLS}/inherited/status`, { status: { status: 200, nodeCount: 1 } });
  // The finalizer, the RuntimeClass, the node, the status and an event are due.
  await pool('fresh', { labels: { tier: 'gold' }, handler: 'runc' });
  const pod = {
    metadata: { name: 'p' },
    spec: { nodeName: 'selector-1', containers: [{ name: 'c', image: 'i' }], automountServiceAccountToken: false },
  };
  await api().expect('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  await api().expect('POST', '/api/v1/namespaces/default/pods', pod);
}

describe('leaves etcd as it was', () => {
  const drain = ['drain', 'selector', '--force', '--yes', '--dry-run=server'];
  const rows: [args: string[], requests: string[]][] = [
    [
      ['reconcile', '--dry-run=server'],
      [
        'create controllerrevisions',
        'create events',
        'create runtimeclasses',
        'delete runtimeclasses',
        'patch nodepools',
        'patch nodepools/status',
        'patch nodes',
        'patch runtimeclasses',
      ],
    ],
    [
      ['create', 'y', '--nodes', 'free-1', '--dry-run=server'],
      ['create nodepools', 'patch nodes'],
    ],
    [['create', 'z', '--dry-run=server'], ['create nodepools']],
    [['adopt', '--label', 'grp', '--create', '--yes', '--dry-run=server'], ['create nodepools']],
    [['edit', 'fresh', '--label', 'a=b', '--dry-run=server'], ['patch nodepools']],
    [
      ['add', 'fresh', 'free-1', '--yes', '--dry-run=server'],
      ['create controllerrevisions', 'create events', 'create runtimeclasses', 'patch nodepools', 'patch nodes'],
    ],
    [
      ['remove', 'selector', 'selector-1', '--yes', '--dry-run=server'],
      ['create controllerrevisions', 'create events', 'patch nodepools/status', 'patch nodes', 'patch runtimeclasses'],
    ],
    [
      ['move', 'selector-1', '--to', 'fresh', '--yes', '--dry-run=server'],
      [
        'create controllerrevisions',
        'create events',
        'create runtimeclasses',
        'patch nodepools',
        'patch nodepools/status',
        'patch nodes',
        'patch runtimeclasses',
      ],
    ],
    [['cordon', 'fresh', '--dry-run=server'], ['patch nodes']],
    [['uncordon', 'cordoned', '--dry-run=server'], ['patch nodes']],
    [drain, ['create pods/eviction', 'patch nodes']],
    [
      [...drain, '--disable-eviction'],
      ['delete pods', 'patch nodes'],
    ],
    [
      ['delete', 'selector', '--yes', '--dry-run=server'],
      ['create events', 'delete nodepools', 'delete runtimeclasses', 'patch nodepools', 'patch nodes'],
    ],
    [['install', '--dry-run=server'], ['patch customresourcedefinitions']],
    [['uninstall', '--cascade', '--yes', '--dry-run=server'], ['delete customresourcedefinitions']],
  ];
  for (const [args, requests] of rows) {
    test(args.join(' '), async () => assert.deepEqual(await requestsOfDryRun(args), requests));
  }

  test('install and uninstall --controller', async () => {
    const install = ['install', '--controller', '--image', 'r.example.com/c:1'];
    // The namespace has to exist for the objects in it.
    assert.equal((await cliHere(cluster(), install)).code, 0);
    const kinds = (requests: string[], verb: string) =>
      requests.filter(request => request.startsWith(`${verb} `)).length;
    assert.equal(kinds(await requestsOfDryRun([...install, '--dry-run=server']), 'patch'), 13);
    assert.equal(
      kinds(await requestsOfDryRun(['uninstall', '--controller', '--yes', '--dry-run=server']), 'delete'),
      12,
    );
  });
});

/** Runs a command that must write nothing; returns the kinds of writes that it sent. */
async function requestsOfDryRun(args: string[]): Promise<string[]> {
  const start = (await readAudit(cluster())).length;
  const keys = await writtenKeys(cluster().etcdUrl);
  const { code, stderr } = await cliHere(cluster(), args);
  assert.equal(code, 0, stderr);
  assert.deepEqual(await writtenKeys(cluster().etcdUrl), keys);
  const sent = (await readAudit(cluster()))
    .slice(start)
    .filter(({ userAgent, verb }) => userAgent.startsWith('kubectl-nodepool/') && !/^(get|list|watch)$/.test(verb))
    .map(({ verb, resource }) => `${verb} ${resource}`);
  return [...new Set(sent)].toSorted();
}
