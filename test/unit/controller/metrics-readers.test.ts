/** MetricsReaders: whom it asks, what it remembers, and for how long. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MetricsReaders, type ReviewPort } from '../../../src/controller/metrics-readers.ts';
import { FakeClock } from './fake-clock.ts';

/** The server knows the tokens `reader` and `stranger`; every token may be taken away. */
function fixture() {
  const clock = new FakeClock();
  const known = new Map([
    ['reader', true],
    ['stranger', false],
  ]);
  const asked: string[] = [];
  const logged: string[] = [];
  const server = { isDown: false, waiting: 0, most: 0 };
  const reviews: ReviewPort = {
    async userOf(token) {
      asked.push(token);
      server.most = Math.max(server.most, ++server.waiting);
      await new Promise(resolve => setImmediate(resolve));
      server.waiting--;
      if (server.isDown) throw new Error('the server is down');
      return known.has(token) ? { username: token } : undefined;
    },
    async mayAccess({ username }, verb, path) {
      assert.deepEqual([verb, path], ['get', '/metrics']);
      return known.get(username) === true;
    },
  };
  const readers = new MetricsReaders(reviews, clock, (_, text) => logged.push(text));
  const status = async (header?: string) => (await readers.refusal('get', '/metrics', header))?.status ?? 200;
  return { clock, known, asked, logged, server, readers, status };
}

test('admits readers that the server authenticates and authorizes', async () => {
  const { status, readers, asked } = fixture();
  assert.deepEqual(
    [await status('Bearer reader'), await status('bearer  reader '), await status('Bearer nobody')],
    [200, 200, 401],
  );
  assert.deepEqual(await readers.refusal('get', '/metrics', 'Bearer stranger'), {
    status: 403,
    body: 'User "stranger" cannot get path "/metrics"\n',
  });
  const before = asked.length;
  for (const header of [undefined, '', 'Bearer', 'Bearer ', 'Basic reader', 'reader', 'Bearer a b']) {
    assert.equal(await status(header), 401);
  }
  assert.equal(asked.length, before, 'without a token the server is not asked');
});

test('asks the server once a minute for an admitted reader, and every 10 s for others', async () => {
  const { status, asked, known, clock } = fixture();
  await Promise.all([status('Bearer reader'), status('Bearer reader'), status('Bearer nobody')]);
  assert.deepEqual(asked, ['reader', 'nobody']);
  known.delete('reader');
  known.set('nobody', true);
  clock.freeze(9_999);
  assert.deepEqual([await status('Bearer reader'), await status('Bearer nobody')], [200, 401]);
  clock.freeze(1);
  assert.equal(await status('Bearer nobody'), 200);
  clock.freeze(49_999);
  assert.equal(await status('Bearer reader'), 200);
  clock.freeze(1);
  assert.equal(await status('Bearer reader'), 401);
});

test('admits no new reader while the server does not answer, and logs that once', async () => {
  const { status, server, logged, clock } = fixture();
  assert.equal(await status('Bearer reader'), 200);
  server.isDown = true;
  assert.deepEqual([await status('Bearer stranger'), await status('Bearer stranger')], [500, 500]);
  assert.equal(await status('Bearer reader'), 200, 'decided before');
  clock.freeze(60_000);
  assert.equal(await status('Bearer reader'), 500);
  assert.deepEqual(logged, ['/metrics: cannot authorize any reader: the server is down']);
  server.isDown = false;
  assert.equal(await status('Bearer reader'), 200);
});

test('asks the server at most four questions at a time', async () => {
  const { status, server, asked } = fixture();
  await Promise.all(Array.from({ length: 50 }, (_, index) => status(`Bearer unknown-${index}`)));
  assert.deepEqual([asked.length, server.most], [50, 4]);
});
