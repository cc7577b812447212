import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { NodeAlterers } from '../../../../src/kube/resources/nodes.ts';

/** Which resources are asked for by so many patches, and the answer that the one after them gets. */
async function after(patches: number, webhooks: object[] = [], isAltered = false) {
  const asked: string[] = [];
  const alterers = new NodeAlterers({
    async isServed({ plural }) {
      asked.push(plural);
      return true;
    },
    async list<Item, T>({ plural }: { plural: string }, map: (item: Item) => T | undefined) {
      asked.push(plural);
      return plural.startsWith('mutatingwebhook') ? webhooks.map(each => map(each as Item) as T) : [];
    },
  });
  for (let patch = 0; patch < patches; patch++) alterers.areNone();
  if (isAltered) alterers.altered();
  await setImmediate();
  return { asked: [...asked], areNone: alterers.areNone() };
}

test('asks nothing in a run of 50 patches, and once in one of more', async () => {
  assert.deepEqual((await after(50)).asked, []);
  const many = await after(200);
  assert.deepEqual(many.asked.toSorted(), [
    'mutatingadmissionpolicies',
    'mutatingadmissionpolicies',
    'mutatingwebhookconfigurations',
  ]);
  assert.ok(many.areNone);
});

test('a webhook for updates of nodes may alter them, one for their creation not', async () => {
  const rule = (operation: string, resource = 'nodes') => [
    { webhooks: [{ rules: [{ apiGroups: [''], resources: [resource], operations: [operation] }] }] },
  ];
  assert.equal((await after(60, rule('UPDATE'))).areNone, false);
  assert.equal((await after(60, rule('CREATE'))).areNone, true);
  assert.equal((await after(60, rule('UPDATE', 'nodes/*'))).areNone, false, 'the node itself, too');
  assert.equal((await after(60, rule('UPDATE', 'nodes/status'))).areNone, true);
  assert.equal((await after(60, [], true)).areNone, false, 'a node was not written as it was sent');
});
