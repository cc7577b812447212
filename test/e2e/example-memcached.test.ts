/** examples/memcached behaves as its README says, with its own service account. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ensureBinaries } from '../cluster/binaries.ts';
import { CONTROLLER_BINARIES, startControllers } from '../cluster/controllers.ts';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { kubectl, useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { kubectlOk, pathIn, startExample } from './example.ts';
import { eventually } from './watching.ts';

const GROUP = '/apis/cache.example.com/v1alpha1';
/** Of the garbage collector when it discovered the kind late: its next discovery, and a retry. */
const COLLECTED_MS = 120_000;
const MEMCACHED = '/apis/cache.example.com/v1alpha1/namespaces/default/memcacheds/memcached-sample';
const DEPLOYMENT = '/apis/apps/v1/namespaces/default/deployments/memcached-sample';
const PODS = '/api/v1/namespaces/default/pods?labelSelector=app.kubernetes.io/name=memcached';
const USER = 'system:serviceaccount:memcached-system:memcached-controller';

interface Sample {
  metadata: { uid: string };
  status?: { nodes: string[] };
}

interface Deployment {
  metadata: { uid: string; generation: number; ownerReferences: object[] };
  spec: { replicas: number };
  status: { readyReplicas?: number };
}

describe('the example memcached', () => {
  const cluster = useCluster({ own: true }, async started => {
    // Not in the test, whose timeout is shorter than building them may take.
    await ensureBinaries(CONTROLLER_BINARIES);
    await createNodes(started, [{ name: 'node-1' }, { name: 'node-2' }]);
  });
  const get = async <T>(path: string) => (await raw(cluster()).expect('GET', path)) as T;

  async function podNames(): Promise<string[]> {
    const { items } = await get<{ items: { metadata: { name: string } }[] }>(PODS);
    return items.map(({ metadata }) => metadata.name).sort();
  }

  async function runs(size: number): Promise<void> {
    await eventually(`${size} pods run, and the status names them`, async () => {
      const { body } = await raw(cluster()).request('GET', DEPLOYMENT);
      const names = (await get<Sample>(MEMCACHED)).status?.nodes;
      const ready = (body as Partial<Deployment>).status?.readyReplicas ?? 0;
      return ready === size && names?.length === size && names.join() === (await podNames()).join();
    });
  }

  const resize = (size: number) =>
    kubectlOk(cluster(), 'patch', 'memcached', 'memcached-sample', '--type=merge', '-p', `{"spec":{"size":${size}}}`);

  test('owns a Deployment of the requested size, lists its pods, and is deleted with both', {
    timeout: 300_000,
  }, async t => {
    await kubectlOk(cluster(), 'apply', '-f', pathIn('memcached', 'manifests'));
    await kubectlOk(cluster(), 'wait', '--for=condition=Established', 'crd/memcacheds.cache.example.com');
    // After the CRD is discovered, which is later than Established: the garbage collector looks for new kinds every 30 s only.
    await eventually('the kind is discovered', async () => (await raw(cluster()).request('GET', GROUP)).status === 200);
    const controllers = await startControllers(cluster());
    t.after(controllers.stop);
    await kubectlOk(cluster(), 'apply', '-f', pathIn('memcached', 'sample.yaml'));
    const example = startExample(t, 'memcached', await kubeconfigFor(cluster(), USER));
    await runs(3);
    const { metadata } = await get<Deployment>(DEPLOYMENT);
    const owner = await get<Sample>(MEMCACHED);
    assert.deepEqual(metadata.ownerReferences, [
      {
        apiVersion: 'cache.example.com/v1alpha1',
        kind: 'Memcached',
        name: 'memcached-sample',
        uid: owner.metadata.uid,
        controller: true,
      },
    ]);

    await resize(4);
    await runs(4);
    const { metadata: before } = await get<Deployment>(DEPLOYMENT);
    await kubectlOk(cluster(), 'scale', 'deployment', 'memcached-sample', '--replicas=1');
    await eventually('it is scaled back', async () => {
      const { metadata: after, spec } = await get<Deployment>(DEPLOYMENT);
      return after.generation === before.generation + 2 && spec.replicas === 4;
    });
    await runs(4);
    await kubectlOk(cluster(), 'delete', 'deployment', 'memcached-sample');
    await eventually('it is recreated', async () => {
      const { body } = await raw(cluster()).request('GET', DEPLOYMENT);
      const uid = (body as Partial<Deployment>).metadata?.uid;
      return uid !== undefined && uid !== metadata.uid;
    });
    await runs(4);
    await resize(0);
    await eventually('no pod is left', async () => (await podNames()).length === 0);
    await eventually('the status is empty', async () => (await get<Sample>(MEMCACHED)).status?.nodes.length === 0);
    await resize(2);
    await runs(2);

    await kubectlOk(cluster(), 'delete', 'memcached', 'memcached-sample');
    await eventually(
      'the Deployment goes',
      async () => (await raw(cluster()).request('GET', DEPLOYMENT)).status === 404,
      COLLECTED_MS,
    );
    await eventually('its pods go', async () => (await podNames()).length === 0, COLLECTED_MS);
    assert.doesNotMatch(example.log(), /forbidden|403(?!Z)/);
    assert.equal(await example.end(), 0);
  });

  test('refuses a negative size and a name that is no label value', async () => {
    const refused = async (name: string, size: number) => {
      const object = {
        apiVersion: 'cache.example.com/v1alpha1',
        kind: 'Memcached',
        metadata: { name },
        spec: { size },
      };
      const { code, stderr } = await kubectl(cluster(), ['create', '-f', '-'], { stdin: JSON.stringify(object) });
      assert.equal(code, 1);
      return stderr;
    };
    assert.match(await refused('small', -1), /spec.size.* greater than or equal to 0/);
    assert.match(await refused('m'.repeat(64), 1), /at most 63 characters/);
  });

  test('does not change the Deployment of somebody else', async t => {
    const foreign = {
      metadata: { name: 'memcached-sample', labels: { 'app.kubernetes.io/name': 'memcached' } },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: 'other' } },
        template: { metadata: { labels: { app: 'other' } }, spec: { containers: [{ name: 'c', image: 'other:1' }] } },
      },
    };
    await raw(cluster()).expect('POST', '/apis/apps/v1/namespaces/default/deployments', foreign);
    await kubectlOk(cluster(), 'apply', '-f', pathIn('memcached', 'sample.yaml'));
    const example = startExample(t, 'memcached', await kubeconfigFor(cluster(), USER));
    await eventually('it says so', () => /belongs to somebody else/.test(example.log()));
    const { spec } = await get<Deployment>(DEPLOYMENT);
    assert.equal(spec.replicas, 1);
    assert.equal(await example.end(), 0);
  });
});
