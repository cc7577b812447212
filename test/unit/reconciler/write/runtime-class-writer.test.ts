/** The RuntimeClass of a pool, on a server where others write too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aPool } from '../../nodepool/fixtures.ts';
import { begin, foreign, NAME, owned, pool, role } from '../runtime-class-server.ts';

test('creates the RuntimeClass with the pool as its owner, once', async () => {
  const { server, state, write } = begin();
  assert.deepEqual(await write(), { kind: 'created', name: NAME });
  assert.deepEqual(server.live, owned({}, { uid: 'uid-2', resourceVersion: '2' }));
  assert.equal(state.runtimeClass(NAME), server.live);
  assert.deepEqual(await write(), { kind: 'unchanged' });
  assert.deepEqual(server.requests, ['create']);
});

test('patches other scheduling, after a read if someone else changed the RuntimeClass', async () => {
  const old = owned({ scheduling: {} });
  const { server, state, write } = begin(old);
  assert.deepEqual(await write(), { kind: 'updated', name: NAME });
  assert.deepEqual(server.live?.scheduling, { nodeSelector: role, tolerations: [] });
  assert.equal(state.runtimeClass(NAME), server.live);

  const behind = begin(old, owned({ scheduling: {} }, { resourceVersion: '5' }));
  behind.server.version = 5;
  assert.deepEqual(await behind.write(), { kind: 'updated', name: NAME });
  assert.deepEqual(behind.server.requests, ['patch', 'get', 'patch']);
});

test('reads an unknown RuntimeClass, and does not write it', async () => {
  const { server, state, write } = begin(undefined, owned());
  assert.deepEqual(await write(), { kind: 'unchanged' });
  assert.deepEqual([server.requests, state.runtimeClass(NAME)], [['create', 'get'], server.live]);
});

test('creates the RuntimeClass when it disappeared before it was read', async () => {
  const { server, write } = begin(undefined, foreign);
  server.before = request => {
    if (request === 'get') server.live = undefined;
  };
  assert.deepEqual(await write(), { kind: 'created', name: NAME });
  assert.deepEqual(server.requests, ['create', 'get', 'create']);
});

test('does not change a foreign RuntimeClass, even if only the create finds it', async () => {
  for (const known of [foreign, undefined]) {
    const { server, write } = begin(known, foreign);
    assert.deepEqual(await write(), { kind: 'foreign', name: NAME });
    assert.equal(server.live, foreign);
    assert.deepEqual(server.requests, known ? [] : ['create', 'get']);
  }
});

test('deletes the RuntimeClass when the pool has no handler or is being deleted', async () => {
  for (const ending of [aPool(), aPool(pool.spec, { deletionTimestamp: '2026-02-01T00:00:00Z' })]) {
    const { server, state, write } = begin(owned());
    assert.deepEqual(await write(ending), { kind: 'deleted', name: NAME });
    assert.deepEqual([server.live, state.runtimeClass(NAME)], [undefined, undefined]);
    assert.deepEqual(await write(ending), { kind: 'unchanged' });
    assert.deepEqual(server.requests, ['delete']);
  }
});

test('treats a missing RuntimeClass as deleted', async () => {
  const { server, state, write } = begin(owned());
  server.live = undefined;
  assert.deepEqual(await write(aPool()), { kind: 'deleted', name: NAME });
  assert.equal(state.runtimeClass(NAME), undefined);
});

test('waits for a RuntimeClass that finalizers hold', async () => {
  const held = owned({}, { finalizers: ['example.com/hold'] });
  const { state, write } = begin(held);
  assert.deepEqual(await write(aPool()), { kind: 'deleted', name: NAME });
  assert.equal(state.runtimeClass(NAME), held);
});

test('replaces the RuntimeClass for another handler, and keeps what others set', async () => {
  const [labels, annotations, overhead] = [{ team: 'a' }, { note: 'b' }, { podFixed: { cpu: '1m' } }];
  const { server, state, write } = begin(owned({ handler: 'old', overhead }, { labels, annotations }));
  assert.deepEqual(await write(), { kind: 'updated', name: NAME });
  assert.deepEqual(server.requests, ['annotate', 'delete', 'create']);
  assert.deepEqual(server.live, owned({ overhead }, { labels, annotations, uid: 'uid-2', resourceVersion: '2' }));
  assert.equal(state.runtimeClass(NAME), server.live);
});

test('reports a replacement that someone else completes', async () => {
  const { server, write } = begin(owned({ handler: 'old' }));
  server.before = request => {
    if (request === 'create') server.live = owned({}, { uid: 'theirs', resourceVersion: '9' });
  };
  assert.deepEqual(await write(), { kind: 'updated', name: NAME });
  assert.deepEqual(server.requests, ['delete', 'create', 'get']);
});

test('a dry-run replacement ends with the deletion, after which the RuntimeClass still exists', async () => {
  const { server, write } = begin(owned({ handler: 'old' }));
  assert.deepEqual(await write(pool, true), { kind: 'updated', name: NAME });
  assert.deepEqual(server.requests, ['delete']);
});

test('fails to replace a RuntimeClass that finalizers hold, and names them', async () => {
  const held = owned({ handler: 'old' }, { finalizers: ['example.com/hold', 'example.com/two'] });
  await assert.rejects(begin(held).write(), {
    kind: 'cluster',
    message: `cannot replace RuntimeClass ${NAME} while it has finalizers: example.com/hold, example.com/two`,
    next: `see kubectl get runtimeclass ${NAME} -o yaml`,
  });
});

test('reads a recreated RuntimeClass, and leaves it to another owner', async () => {
  const { server, write } = begin(owned({ handler: 'old' }), {
    ...foreign,
    metadata: { ...foreign.metadata, uid: 'x' },
  });
  assert.deepEqual(await write(), { kind: 'foreign', name: NAME });
  assert.deepEqual(server.requests, ['delete', 'get']);
});

test('recreates a deleted RuntimeClass', async () => {
  const { server, write } = begin(owned({ scheduling: {} }));
  server.live = undefined;
  assert.deepEqual(await write(), { kind: 'created', name: NAME });
  assert.deepEqual(server.requests, ['patch', 'get', 'create']);
});

test('gives up after five attempts when someone changes the RuntimeClass before each write', async () => {
  const { server, write } = begin(owned({ scheduling: {} }));
  server.before = request => {
    if (request === 'patch') server.stored(server.live ?? assert.fail(), 'uid-1');
  };
  await assert.rejects(write(), {
    kind: 'cluster',
    message: `somebody else keeps changing RuntimeClass ${NAME}`,
    next: 'try again',
  });
  assert.equal(server.requests.filter(request => request === 'patch').length, 5);
});

test('fails when an admission policy alters the write, and retries after 1 s, 2 s, 4 s', async () => {
  const { server, clock, write, refusal } = begin();
  server.admit = stored => ({ ...stored, scheduling: {} });
  const { kind, message, next, retryAfterMs, isThrottled } = await refusal();
  assert.deepEqual(
    [kind, message, next],
    [
      'cluster',
      `an admission policy or webhook changed RuntimeClass ${NAME} during the write`,
      'find it with `kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations`, and set the value in only one place',
    ],
  );
  assert.deepEqual([retryAfterMs, isThrottled], [1000, false]);
  clock.freeze(400);
  const held = await refusal();
  assert.deepEqual([held.message, held.retryAfterMs, held.isThrottled], [message, 600, true]);
  clock.freeze(600);
  assert.equal((await refusal()).retryAfterMs, 2000);
  server.admit = stored => stored;
  clock.freeze(2000);
  assert.deepEqual(await write(), { kind: 'updated', name: NAME });
  assert.deepEqual(server.requests, ['create', 'patch', 'patch']);
  server.admit = stored => ({ ...stored, scheduling: {} });
  const edited = aPool({ handler: 'runc', labels: { tier: 'gold' } });
  assert.equal((await refusal(edited)).retryAfterMs, 1000, 'the one before was stored as it was sent');
});

test('writes the RuntimeClass at most ten times a minute', async () => {
  const { server, state, clock, write, refusal } = begin();
  const edited = (tier: string) => aPool({ handler: 'runc', labels: { tier } });
  for (let edit = 1; edit <= 10; edit++) {
    await write(edited(`v${edit}`));
    clock.freeze(1000);
  }
  const { kind, message, next, retryAfterMs, isThrottled } = await refusal(edited('v11'));
  assert.deepEqual(
    [kind, message, next, retryAfterMs, isThrottled],
    [
      'cluster',
      `RuntimeClass ${NAME} reached the limit of 10 writes within a minute`,
      `find out what keeps changing the RuntimeClass: kubectl get runtimeclass ${NAME} -o yaml --show-managed-fields`,
      50_000,
      false,
    ],
  );
  assert.deepEqual([(await refusal(edited('v11'))).isThrottled, server.requests.length], [true, 10]);
  server.live = undefined;
  const other = aPool({ handler: 'runc' }, { name: 'other' });
  assert.deepEqual(await write(other), { kind: 'created', name: 'node-pool-other' }, 'that of another pool is free');
  server.live = state.runtimeClass(NAME);
  clock.freeze(50_000);
  assert.deepEqual(await write(edited('v11')), { kind: 'updated', name: NAME });
});
