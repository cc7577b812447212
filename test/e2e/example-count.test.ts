/** examples/count behaves as its README says. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { kubectl, useCluster } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { kubectlOk, pathIn, startExample } from './example.ts';
import { eventually } from './watching.ts';

const COUNT = '/apis/demo.mark8s.io/v1/namespaces/default/counts/test-count';

describe('the example count', () => {
  const cluster = useCluster();

  async function status(): Promise<{ healthy?: boolean; observedGeneration?: number } | undefined> {
    return ((await raw(cluster()).expect('GET', COUNT)) as { status?: object }).status;
  }

  /** How often the event Synced was recorded for the object. */
  async function synced(): Promise<number> {
    const list = await raw(cluster()).expect('GET', '/apis/events.k8s.io/v1/namespaces/default/events');
    const { items } = list as { items: { reason: string; note: string; series?: { count: number } }[] };
    const found = items.filter(({ reason, note }) => reason === 'Synced' && note === 'Count synced successfully');
    return found.reduce((sum, { series }) => sum + (series?.count ?? 1), 0);
  }

  test('waits for its CRD, and handles each generation of a Count and its deletion once', async t => {
    const example = startExample(t, 'count', cluster().kubeconfig, '-v', '4');
    const says = (text: RegExp) => eventually(String(text), () => text.test(example.log()));
    await says(/counts: the server answered 404/);
    assert.doesNotMatch(example.log(), /synced/);

    await kubectlOk(cluster(), 'apply', '-f', pathIn('count', 'manifests'));
    await kubectlOk(cluster(), 'wait', '--for=condition=Established', 'crd/counts.demo.mark8s.io', '--timeout=20s');
    await kubectlOk(cluster(), 'apply', '-f', pathIn('count', 'sample.yaml'));
    await says(/event Normal Synced of Count test-count/);
    assert.match(example.log(), /debug {3}added: default\/test-count enters the queue/);
    assert.deepEqual(await status(), { healthy: true, observedGeneration: 1 });
    await eventually('the event is written', async () => (await synced()) === 1);
    assert.match(
      await kubectlOk(cluster(), 'describe', 'count', 'test-count'),
      /Normal +Synced +\S+ +count-controller +Count synced successfully/,
    );
    assert.match(await kubectlOk(cluster(), 'get', 'counts'), /test-count +nginx +3 +true/);

    // A change of a label or of the status needs no work.
    await kubectlOk(cluster(), 'label', 'count', 'test-count', 'team=a');
    await kubectlOk(cluster(), 'patch', 'count', 'test-count', '--type=merge', '-p', '{"spec":{"count":5}}');
    await eventually('the new spec is done', async () => (await status())?.observedGeneration === 2);
    await eventually('the event is counted', async () => (await synced()) === 2);

    await kubectlOk(cluster(), 'delete', 'count', 'test-count');
    await says(/default\/test-count is deleted/);
    assert.equal(await synced(), 2);
    assert.equal(await example.end(), 0);
  });

  test('logs no debug lines without -v 4, and repeats no finished work after a restart', async t => {
    await kubectlOk(cluster(), 'apply', '-f', pathIn('count', 'sample.yaml'));
    const before = startExample(t, 'count', cluster().kubeconfig);
    await eventually('it is done', async () => (await status())?.healthy);
    assert.equal(await before.end(), 0);
    assert.doesNotMatch(before.log(), /debug/);
    const again = startExample(t, 'count', cluster().kubeconfig, '-v', '4');
    await eventually('it is looked at', () => /wanted are 3 of nginx/.test(again.log()));
    assert.equal(await again.end(), 0);
    assert.doesNotMatch(again.log(), /would be compared/);
  });

  test('the server refuses what the CRD does not allow', async () => {
    const object = (spec: object) =>
      JSON.stringify({ apiVersion: 'demo.mark8s.io/v1', kind: 'Count', metadata: { name: 'bad' }, spec });
    for (const [spec, message] of [
      [{ name: 'nginx', count: -1 }, /spec.count/],
      [{ name: 'nginx' }, /spec.count: Required/],
      [{ count: 1 }, /spec.name: Required/],
    ] as const) {
      const { code, stderr } = await kubectl(cluster(), ['create', '-f', '-'], { stdin: object(spec) });
      assert.equal(code, 1);
      assert.match(stderr, message);
    }
  });
});
