/** The warnings of `drain` about pods whose volumes are on the drained nodes. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { NOW, poolsWithPods } from './draining.ts';
import { bindScratch, createClasses, scratch, ZONE } from './ephemeral-volumes.ts';
import { role, useTestEnv } from './test-env.ts';
import { userWith } from './users.ts';

const testEnv = useTestEnv();
const { pod, budget, drain, names } = poolsWithPods(testEnv);
const api = () => raw(testEnv.cluster());
const CLAIMS = '/api/v1/namespaces/default/persistentvolumeclaims';
const VOLUMES = '/api/v1/persistentvolumes';
const DB = { app: 'db' };

/** Bound, with its volume on one node, as a local one. */
async function localVolume(name: string, node: string): Promise<void> {
  const size = { storage: '1Gi' };
  const of = { accessModes: ['ReadWriteOnce'], storageClassName: 'local' };
  const claim = await api().expect('POST', CLAIMS, {
    metadata: { name, annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
    spec: { ...of, resources: { requests: size }, volumeName: name },
  });
  const { uid } = (claim as { metadata: { uid: string } }).metadata;
  const matchExpressions = [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }];
  await api().expect('POST', VOLUMES, {
    metadata: { name },
    spec: {
      ...of,
      capacity: size,
      local: { path: '/mnt' },
      claimRef: { namespace: 'default', name, uid },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } },
    },
  });
}

beforeEach(async () => {
  await testEnv.nodes(
    ...['w-1', 'w-2', 'other'].map(name => ({
      name,
      labels: { 'kubernetes.io/hostname': name, ...(name === 'other' ? {} : role('worker')) },
      allocatable: { cpu: '4', memory: '8Gi', pods: '10' },
    })),
  );
  await testEnv.pool('worker');
});

/** A pod with such a volume on each node, and a budget that allows one eviction. */
async function databases(): Promise<void> {
  for (const at of ['1', '2']) await pod({ name: `db-${at}`, node: `w-${at}`, labels: DB, claim: `db-${at}` });
  await budget('db', DB, 1);
}

test('pods whose volumes stay on their nodes remain Pending, and may block their budget', async () => {
  for (const at of ['1', '2']) await localVolume(`db-${at}`, `w-${at}`);
  await databases();
  const { code, stderr } = await drain('--dry-run');
  assert.equal(code, 0, stderr);
  assert.match(
    stderr,
    /^warning: pods will stay Pending until nodes of the drain are uncordoned, because their volumes are not reachable from another suitable node: default\/db-1, default\/db-2$/m,
  );
  assert.match(
    stderr,
    /^PodDisruptionBudget default\/db allows 1 of 2 pods to be evicted now; 2 of the evicted pods would stay Pending, so the budget may never allow more$/m,
  );
  assert.match(stderr, /^Not checked: free resources, pod affinity, topology spread; to check, use --check-fit\.$/m);
});

test('--check-fit names where the volume is, and suggests a solution', async () => {
  await localVolume('own', 'w-1');
  await pod({ name: 'db-1', node: 'w-1', claim: 'own' });
  const { code, stderr } = await drain('--node', 'w-1', '--check-fit');
  assert.equal(code, 1, stderr);
  assert.match(
    stderr,
    /1 pod would not fit: 2 node\(s\) didn't match PersistentVolume's node affinity \(volume own is on node w-1\): default\/db-1$/m,
  );
  assert.match(
    stderr,
    /^next: if pods may wait for the node with their volumes, drain without --check-fit: the pods stay Pending until the node is uncordoned$/m,
  );
  await pod({ name: 'picky', node: 'w-1', nodeSelector: { no: 'where' } });
  assert.match(
    (await drain('--node', 'w-1', '--check-fit')).stderr,
    /^next: add nodes, or drain fewer at a time; for pods whose volumes exist only on their node, drain without --check-fit: /m,
  );
});

test('continues the drain without permission for volumes, with a note in a dry run', async () => {
  await databases();
  const rule = (group: string, resource: string, verbs: string[]) => ({
    apiGroups: [group],
    resources: [resource],
    verbs,
  });
  const kubeconfig = await userWith(testEnv.cluster(), 'no-volumes', [
    rule('nodes.lailin.xyz', '*', ['list', 'patch']),
    rule('', 'nodes', ['list', 'get', 'patch']),
    rule('', 'pods', ['list', 'get']),
    rule('', 'pods/eviction', ['create']),
    rule('policy', 'poddisruptionbudgets', ['list']),
  ]);
  const as = { ...testEnv.cluster(), kubeconfig };
  const dry = await cliHere(as, ['drain', 'worker', '--node', 'w-1', '--dry-run']);
  assert.equal(dry.code, 0, dry.stderr);
  assert.doesNotMatch(dry.stderr, /Pending/);
  assert.match(
    dry.stderr,
    /^Not checked: free resources, volumes, pod affinity, topology spread; to check, use --check-fit\.$/m,
  );
  const { code, stderr } = await cliHere(as, ['drain', 'worker', '--node', 'w-1', NOW]);
  assert.equal(code, 0, stderr);
  assert.deepEqual(await names(), ['db-2']);
});

test('--check-fit places pods with ephemeral volumes where new claims can be provisioned', async () => {
  await createClasses(api());
  for (const [name, zone] of Object.entries({ 'w-1': 'east', 'w-2': 'east', other: 'west' }))
    await testEnv.patchNode(name, { metadata: { labels: { [ZONE]: zone } } });
  await pod({ name: 'free', node: 'w-1', more: scratch('anywhere') });
  await bindScratch(api(), 'free', 'east');
  const fits = await drain('--check-fit', '--dry-run');
  assert.equal(fits.code, 0, fits.stderr);
  assert.match(fits.stderr, /^Not considered: volume limits of nodes/m);
  await pod({ name: 'tied', node: 'w-2', more: scratch('east') });
  const { code, stderr } = await drain('--check-fit', '--dry-run');
  assert.equal(code, 1, stderr);
  assert.match(
    stderr,
    /1 pod would not fit: 1 node\(s\) didn't find available persistent volumes to bind \(claim of volume scratch\): default\/tied$/m,
  );
});

test('--check-fit assigns a local volume to only one pod', async () => {
  await createClasses(api());
  const name = 'free-disk';
  const matchExpressions = [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['other'] }];
  await api().expect('POST', VOLUMES, {
    metadata: { name },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'static',
      capacity: { storage: '1Gi' },
      local: { path: '/mnt' },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } },
    },
  });
  await api().expect('PATCH', `${VOLUMES}/${name}/status`, { status: { phase: 'Available' } });
  await pod({ name: 'one', node: 'w-1', more: scratch('static') });
  assert.match((await drain('--check-fit', '--dry-run')).stderr, /^The recreated pod fits on the other nodes\.$/m);
  await pod({ name: 'two', node: 'w-2', more: scratch('static') });
  const { code, stderr } = await drain('--check-fit', '--dry-run');
  assert.equal(code, 1, stderr);
  assert.match(
    stderr,
    /1 pod would not fit: 1 node\(s\) didn't find available persistent volumes to bind \(claim of volume scratch\): default\/(one|two)$/m,
  );
});
