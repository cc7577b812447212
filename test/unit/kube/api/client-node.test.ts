import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { projectFiles, ROOT } from '../../../../scripts/root.ts';
import { Api, JSON_PATCH, MERGE_PATCH } from '../../../../src/kube/api/api.ts';
import { EVENTS, NODE_POOLS, NODES, PODS, type Resource } from '../../../../src/kube/api/resource.ts';
import type { Request } from '../../../../src/kube/transport/request.ts';
import type { Transport } from '../../../../src/kube/transport/transport.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';

const BODY = { metadata: { name: 'a' }, unknown: { '9': 1, b: null, a: ['<&>', 1e21] } };
const QUERY = { fieldManager: 'kubectl-nodepool' };

/** An Api that remembers its requests. */
function recording(isDryRun = false, answer: () => object = () => ({ status: 200, text: JSON.stringify(BODY) })) {
  const sent: Request[] = [];
  const request = async (one: Request) => {
    sent.push(one);
    return { headers: {}, ...answer() };
  };
  const transport = { request, access: { cluster: { server: 'https://server' } } } as unknown as Transport;
  return { api: new Api(transport, () => new Date(), isDryRun), sent };
}

/** All writes of one object. */
const WRITES: Record<string, (api: Api, resource: Resource, name: string) => Promise<unknown>> = {
  create: (api, resource, name) => api.create(resource, BODY, name),
  'merge patch': (api, resource, name) =>
    api.patch(resource, name, { contentType: MERGE_PATCH, body: BODY, replayable: true }),
  'JSON patch of the status': (api, resource, name) =>
    api.patch(resource, name, { contentType: JSON_PATCH, body: [BODY], subresource: 'status', replayable: true }),
  apply: (api, resource, name) => api.apply(resource, name, BODY),
  delete: (api, resource, name) => api.delete(resource, { name, uid: 'u' }),
};
const NAMED = Object.entries(WRITES).filter(([verb]) => verb !== 'create');

test('client-node sends the same requests as the transport for the core group', async () => {
  for (const resource of [NODE_POOLS, EVENTS]) {
    for (const [verb, write] of Object.entries(WRITES)) {
      const [core, other] = [recording(), recording()];
      await write(core.api, { ...resource, group: '' }, 'a b?');
      await write(other.api, resource, 'a b?');
      const path = core.sent[0]?.path.replace('/api/', `/apis/${resource.group}/`);
      const defaults = { contentType: 'application/json', query: {} };
      assert.deepEqual(other.sent, [{ ...defaults, ...core.sent[0], path }], `${verb} of ${resource.kind}`);
    }
  }
});

describe('refuses names that would address the collection or a parent, before any request', () => {
  for (const [verb, write] of NAMED) {
    test(verb, async () => {
      for (const resource of [NODE_POOLS, EVENTS, NODES]) {
        for (const name of ['', '.', '..']) {
          const { api, sent } = recording();
          await assert.rejects(async () => write(api, resource, name), {
            kind: 'input',
            message: `"${name}" is not a valid ${resource.kind} name`,
          });
          assert.deepEqual(sent, []);
        }
      }
    });
  }
});

test('on a dry-run connection, each write is a dry run', async () => {
  for (const resource of [NODE_POOLS, EVENTS]) {
    for (const [verb, write] of Object.entries(WRITES)) {
      const { api, sent } = recording(true);
      await write(api, resource, 'a');
      const [{ query, body } = {}] = sent as { query?: object; body?: { dryRun?: string[] } }[];
      const inBody = { apiVersion: 'v1', kind: 'DeleteOptions', dryRun: ['All'] };
      if (verb === 'delete') assert.partialDeepStrictEqual(body, inBody);
      else assert.partialDeepStrictEqual(query, { ...QUERY, dryRun: 'All' }, verb);
    }
  }
});

test('on a dry-run connection, a write without the option is a dry run', async () => {
  for (const resource of [NODE_POOLS, EVENTS]) {
    const { api, sent } = recording(true);
    await api.write(resource, { method: 'POST', body: {} }, {});
    await api.write(resource, { method: 'DELETE', name: 'a', body: {} }, {});
    const [created, deleted] = sent as { query?: object; body?: object }[];
    assert.deepEqual([created?.query, deleted?.body], [{ dryRun: 'All' }, { dryRun: ['All'] }]);
  }
});

test('on a dry-run connection, an eviction sets dryRun in query and body', async () => {
  const { api, sent } = recording(true);
  const body = { metadata: { name: 'p' }, deleteOptions: { preconditions: { uid: 'u' } } };
  await api.write(PODS, { method: 'POST', name: 'p', subresource: 'eviction', body }, {});
  const deleteOptions = { preconditions: { uid: 'u' }, dryRun: ['All'] };
  assert.partialDeepStrictEqual(sent[0], { query: { dryRun: 'All' }, body: { ...body, deleteOptions } });
});

test('only api.ts sends writes, and only reviews are sent without dryRun', async () => {
  const sendsMore = /transport\.request\([^;]*\b(?:method|body)\b/s;
  const files = projectFiles(['src/kube/**/*.ts']);
  assert.deepEqual(
    files.filter(file => sendsMore.test(readFileSync(join(ROOT, file), 'utf8'))),
    ['src/kube/api/api.ts'],
  );
  const { api, sent } = recording(true);
  await assert.rejects(api.sendReview(PODS, {}), { message: 'Pod is not a review' });
  assert.deepEqual(sent, []);
});

test('passes on errors of the transport and refusals as for other requests', async () => {
  const status = { kind: 'Status', status: 'Failure', message: 'not now', code: 403, reason: 'Forbidden' };
  const refused = { status: 403, text: JSON.stringify(status), headers: {} };
  const lost = new NodepoolError('cluster', 'the connection was lost');
  for (const write of Object.values(WRITES)) {
    const fail = () => {
      throw lost;
    };
    await assert.rejects(write(recording(false, fail).api, NODE_POOLS, 'a'), error => error === lost);
    const messageOf = (resource: Resource) =>
      write(recording(false, () => refused).api, resource, 'a').then(
        () => '',
        (error: Error) => error.message.replaceAll('nodepools.nodes.lailin.xyz', 'nodepools'),
      );
    const message = await messageOf(NODE_POOLS);
    assert.match(message, /NodePool "a": .*not now/);
    assert.equal(message, await messageOf({ ...NODE_POOLS, group: '' }));
  }
});

test('passes the send options on to the transport', async () => {
  const { api, sent } = recording();
  const sending = { urgent: true, deadlineMs: 5, replayable: true, accept: 'application/x' };
  await api.write(NODE_POOLS, { method: 'POST', body: BODY }, sending);
  assert.partialDeepStrictEqual(sent[0], sending);
});
