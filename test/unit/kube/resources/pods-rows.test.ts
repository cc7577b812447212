import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Api } from '../../../../src/kube/api/api.ts';
import { podRows } from '../../../../src/kube/resources/pods.ts';
import type { Request } from '../../../../src/kube/transport/request.ts';
import type { Transport } from '../../../../src/kube/transport/transport.ts';

const PAGE = 500;
const PAGES = 6;

/** A server with pages of pods, alternately on two nodes. */
function server() {
  const asked: string[] = [];
  const request = async ({ query }: Request) => {
    const page = Number(query?.continue ?? 0);
    asked.push(String(query?.fieldSelector));
    const items = Array.from({ length: PAGE }, (_, i) => ({
      metadata: { namespace: 'default', name: `pod-${String(page * PAGE + i).padStart(5, '0')}` },
      spec: { nodeName: `n${i % 2}`, containers: [] },
    }));
    const metadata = page + 1 < PAGES ? { continue: String(page + 1) } : {};
    return { status: 200, headers: {}, text: JSON.stringify({ metadata, items }) };
  };
  return { asked, api: new Api({ request } as unknown as Transport, () => new Date()) };
}

test('reads only the first pages of many pods when no more are wanted', async () => {
  const some = server();
  const rows = await podRows(some.api, undefined, PAGE + 1);
  assert.deepEqual([rows.length, rows.at(-1)?.name, some.asked.length], [PAGE + 1, 'pod-00500', 2]);
  const all = server();
  assert.equal((await podRows(all.api)).length, PAGE * PAGES);
  assert.equal(all.asked.length, PAGES);
  const ofNodes = server();
  const few = await podRows(ofNodes.api, ['n0', 'n1'], 3);
  assert.deepEqual(
    few.map(({ name }) => name),
    ['pod-00000', 'pod-00000', 'pod-00001'],
  );
  assert.deepEqual(ofNodes.asked, ['spec.nodeName=n0', 'spec.nodeName=n1']);
});
