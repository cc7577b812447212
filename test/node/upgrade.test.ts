/** An upgrade from the program and the image of an earlier version, while somebody else changes the node of a pool. */
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { nodeObstacle } from '../cluster/node/start.ts';
import { raw } from '../cluster/raw.ts';
import { run } from '../cluster/run.ts';
import { commandsOf } from '../e2e/commands.ts';
import { type LiveNode, taintsOf } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { temporaryFolder } from '../package/copy.ts';
import { buildFormer, FORMER_IMAGE, type Former, formerObstacle } from './former.ts';
import { useNodeEnv } from './node-env.ts';

const NAMESPACE = 'nodepool-system';
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
/** Other labels that somebody sets while the controller is upgraded. */
const CHANGES = 20;
const obstacle = (await nodeObstacle()) ?? (await formerObstacle());

interface Pod {
  metadata: { name: string };
  status: { containerStatuses?: { ready: boolean; imageID: string }[] };
}

suite('an upgrade of the controller in pods of a real node', { skip: obstacle ?? false }, () => {
  const env = useNodeEnv('real-1');
  const { ok } = commandsOf(env.cluster);
  const api = () => raw(env.cluster());
  const node = async () => (await api().expect('GET', '/api/v1/nodes/real-1')) as LiveNode;
  const pods = async () => ((await api().expect('GET', PODS)) as { items: Pod[] }).items;
  const images = async () =>
    new Set((await pods()).map(({ status }) => status.containerStatuses?.[0]?.imageID).filter(Boolean));
  let former: Former | undefined;
  let formerImages = new Set<string | undefined>();

  test('the former version is installed, and its controller applies the pool to the node', {
    timeout: 300_000,
  }, async () => {
    former = await buildFormer(await temporaryFolder({ after }));
    await env.importImage(former.archive);
    await env.kubectl('label', 'node', 'real-1', 'tier=legacy');
    const old = async (...args: string[]) => {
      const { KUBECONFIG, HOME } = { KUBECONFIG: env.cluster().kubeconfig, HOME: env.cluster().dir };
      const { code, stderr } = await run(former?.executable ?? '', args, { env: { KUBECONFIG, HOME } });
      assert.equal(code, 0, stderr);
    };
    await old('install', '--controller', '--image', FORMER_IMAGE);
    await old(
      'create',
      'real',
      '--nodes',
      'real-1',
      '--label',
      'tier=gold',
      '--label',
      'rack=r1',
      '--taint',
      'real=yes:PreferNoSchedule',
    );
    await eventually('two pods are ready', async () => (await ready()) === 2, 120_000);
    await eventually('the node has the label', async () => (await node()).metadata.labels.tier === 'gold');
    formerImages = await images();
    assert.equal(formerImages.size, 1);
  });

  test('install --controller replaces CRD and pods, and keeps the changes on the node', {
    timeout: 300_000,
  }, async () => {
    const before = (await pods()).map(({ metadata }) => metadata.name);
    const [upgrade] = await Promise.all([
      ok(['install', '--controller']),
      (async () => {
        for (let change = 0; change < CHANGES; change++) {
          // More than ten repairs in a minute would be put off (rate-limiters.ts).
          const taken = change % 4 === 0 ? ['rack-'] : [];
          await env.kubectl('label', 'node', 'real-1', `foreign-${change}=${change}`, ...taken, '--overwrite');
          await sleep(500);
        }
      })(),
    ]);
    assert.match(upgrade, /deployment\.apps\/nodepool-controller configured/);
    await env.kubectl('-n', NAMESPACE, 'rollout', 'status', 'deployment', 'nodepool-controller', '--timeout=120s');
    await eventually(
      'the old pods are gone',
      async () => !(await pods()).some(({ metadata }) => before.includes(metadata.name)),
      90_000,
    );
    const now = await images();
    assert.deepEqual([now.size, now.isDisjointFrom(formerImages)], [1, true], 'another image runs');
    await eventually('the label is back', async () => (await node()).metadata.labels.rack === 'r1');
    const { labels } = (await node()).metadata;
    assert.equal(Object.keys(labels).filter(key => key.startsWith('foreign-')).length, CHANGES);
    // The new controller calls it contested only if it repaired the label itself three times.
    let shown = '';
    await eventually(
      'the pool is normal',
      async () => {
        shown = await ok(['get', 'real', '--no-headers']);
        return /^real +(Ready|Contested) +1 /.test(shown);
      },
      90_000,
    ).catch((error: unknown) => assert.fail(`${error}\n${shown}`));
  });

  // The former CRD has no annotations.
  test('a new field reaches the node, and values displaced by the former version are restored', {
    timeout: 120_000,
  }, async () => {
    await ok(['edit', 'real', '--annotation', 'team=a', '--label', 'tier=silver']);
    await eventually(
      'the node has both',
      async () => {
        const { labels, annotations } = (await node()).metadata;
        return labels.tier === 'silver' && annotations?.team === 'a';
      },
      90_000,
    );
    await ok(['delete', 'real', '--yes']);
    const { metadata, spec } = await node();
    assert.deepEqual([metadata.labels.tier, taintsOf({ metadata, spec })], ['legacy', []]);
    const { team, [RECORD_ANNOTATION]: record } = metadata.annotations ?? {};
    assert.deepEqual([team, record], [undefined, undefined]);
  });

  async function ready(): Promise<number> {
    return (await pods()).filter(({ status }) => status.containerStatuses?.[0]?.ready).length;
  }
});
