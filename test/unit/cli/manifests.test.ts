import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import pjson from '../../../package.json' with { type: 'json' };
import { readController, readControllerWith, readPolicies } from '../../../src/cli/manifests.ts';
import { nameOf, quotedNameOf } from '../../../src/commands/shared/install/foreign-objects.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

const published = `ghcr.io/lailin-xyz/kubectl-nodepool:${pjson.version}`;
const imagesOf = (text: string) => text.match(/(?<=^ +image: ).*$/gm);

test('the image flag replaces the image of the manifest, in text and objects', async () => {
  const image = 'registry.example.com:5000/team/nodepool@sha256:0123abcd';
  const { text, objects } = await readControllerWith(root, image, { podCounts: false, evictions: false });
  assert.deepEqual(imagesOf(text), [`"${image}"`]);
  assert.match(JSON.stringify(objects), new RegExp(`"image":"${image}"`));
  assert.deepEqual(imagesOf((await readController(root)).text), [published], 'one place to replace');
  assert.deepEqual(imagesOf((await readControllerWith(root, undefined, { podCounts: false, evictions: false })).text), [
    published,
  ]);
});

test('refuses an invalid image name', async () => {
  for (const image of ['', 'a b', 'a"b', '-x', 'a\nb', 'a#$&']) {
    await assert.rejects(
      readControllerWith(root, image, { podCounts: false, evictions: false }),
      { kind: 'usage', message: `--image "${image}" is not an image name` },
      image,
    );
  }
});

test('grants and counts pods only with --pod-counts, and evictions only with --evictions', async () => {
  const has = async (podCounts: boolean, evictions: boolean) => {
    const text = JSON.stringify((await readControllerWith(root, 'i', { podCounts, evictions })).objects);
    const pods = '"resources":["pods"],"verbs":';
    return [
      text.includes(`${pods}["list","watch"]`),
      text.includes('"--pod-counts"'),
      text.includes(`${pods}["list"]`) && text.includes('"resources":["pods/eviction"],"verbs":["create"]'),
      text.includes('eviction'),
    ];
  };
  for (const podCounts of [false, true])
    for (const evictions of [false, true])
      assert.deepEqual(await has(podCounts, evictions), [podCounts, podCounts, evictions, evictions]);
});

test('gives the controller --transient-keys as its last argument', async () => {
  const argsOf = async (transientKeys?: string[]) => {
    const { objects } = await readControllerWith(root, 'i', { podCounts: false, evictions: false, transientKeys });
    const deployment = objects.find(({ kind }) => kind === 'Deployment') as unknown as {
      spec: { template: { spec: { containers: { args: string[] }[] } } };
    };
    return deployment.spec.template.spec.containers[0]?.args ?? [];
  };
  const before = await argsOf();
  assert.deepEqual(await argsOf([]), before);
  assert.deepEqual(await argsOf(['a.example.com/*', 'b']), [...before, '--transient-keys=a.example.com/*,b']);
});

test('puts the namespace before the objects in it', async () => {
  const { objects } = await readController(root);
  assert.deepEqual(objects.map(nameOf).slice(0, 2), [
    'namespace/nodepool-system',
    'serviceaccount/nodepool-controller',
  ]);
});

test('puts an admission policy before its binding, and ignores failures if it needs NodePools', async () => {
  const { text, objects } = await readPolicies(root);
  assert.deepEqual(
    objects.map(({ kind, metadata }) => `${kind.replace('ValidatingAdmission', '')} ${metadata.name}`),
    ['records', 'membership'].flatMap(what =>
      ['Policy', 'PolicyBinding'].map(kind => `${kind} protect-${what}.nodes.lailin.xyz`),
    ),
  );
  assert.equal(text.match(/^---$/gm)?.length, objects.length - 1);
  for (const { spec } of objects as unknown as { spec: { paramKind?: object; failurePolicy?: string } }[]) {
    if (spec.failurePolicy !== undefined)
      assert.equal(spec.failurePolicy, spec.paramKind === undefined ? 'Fail' : 'Ignore');
  }
});

test('prints names as kubectl does', () => {
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' } };
  assert.deepEqual([nameOf(deployment), quotedNameOf(deployment)], ['deployment.apps/a', 'deployment.apps "a"']);
  assert.equal(nameOf({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'b' } }), 'namespace/b');
});
