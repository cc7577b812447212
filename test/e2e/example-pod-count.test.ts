/** examples/pod-count behaves as its README says. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { kubectlOk, pathIn, startExample } from './example.ts';
import { eventually } from './watching.ts';

interface NodeBody {
  metadata: { name: string; labels?: Record<string, string> };
}

interface EventList {
  items: { regarding: { name: string }; note: string; reason: string; type: string; series?: { count: number } }[];
}

describe('the example pod-count', () => {
  const cluster = useCluster();

  async function counts(): Promise<Record<string, string | undefined>> {
    const { items } = (await raw(cluster()).expect('GET', '/api/v1/nodes')) as { items: NodeBody[] };
    return Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.labels?.['hopegi/pod-count']]));
  }

  async function notes(): Promise<string[]> {
    const { items } = (await raw(cluster()).expect('GET', '/apis/events.k8s.io/v1/events')) as EventList;
    return items
      .filter(({ reason, type }) => reason === 'SuccessCalculatePod' && type === 'Normal')
      .map(({ regarding, note, series }) => `${regarding.name}: ${note} x${series?.count ?? 1}`)
      .sort();
  }

  test('counts every 10 s, labels only control-plane nodes, logs and records events', { timeout: 60_000 }, async t => {
    await kubectlOk(cluster(), 'create', '-f', pathIn('pod-count', 'sample.yaml'));
    await createNodes(cluster(), [
      { name: 'control-plane-1', labels: { 'node-role.kubernetes.io/control-plane': '' } },
    ]);
    const example = startExample(t, 'pod-count', cluster().kubeconfig);

    const all = (count: string) => ({ 'control-plane-0': count, 'control-plane-1': count, 'worker-1': undefined });
    await eventually('every pod is reported', async () => (await notes()).length === 3);
    const first = performance.now();
    assert.deepEqual(await counts(), all('3'));
    assert.deepEqual(await notes(), ['dns: pod count is 3 x1', 'web-1: pod count is 3 x1', 'web-2: pod count is 3 x1']);
    assert.match(example.log(), /the caches have synced\n[^\n]*counting: there are 3 pods/);
    assert.match(example.log(), /event Normal SuccessCalculatePod of Pod web-1: pod count is 3/);

    await kubectlOk(cluster(), 'delete', 'pod', 'web-2', '--now');
    await eventually('the next pass sees it', async () => (await counts())['control-plane-0'] === '2');
    const seconds = (performance.now() - first) / 1000;
    assert.ok(seconds > 8 && seconds < 12, `${seconds} s between two passes`);
    await eventually('the next pass tells of it', async () => (await notes()).includes('dns: pod count is 2 x1'));
    assert.deepEqual(await counts(), all('2'));

    await eventually('the same again is counted', async () => (await notes()).includes('dns: pod count is 2 x2'));
    assert.equal(example.log().match(/node control-plane-0: /g)?.length, 2, 'it writes only what differs');
    assert.equal(await example.end(), 0);
  });
});
