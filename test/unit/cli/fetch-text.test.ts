import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { fetchText } from '../../../src/cli/fetch-text.ts';

describe('a text from the web', () => {
  const server = createServer((request, response) => {
    if (request.url === '/text') response.end('käse');
    else if (request.url === '/endless') {
      const feed = () => {
        while (!response.closed && response.write('x'.repeat(64 * 1024)));
      };
      response.on('drain', feed);
      feed();
    } else if (request.url !== '/silent') response.writeHead(404).end();
  });
  let base: string;
  before(async () => {
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  test('waits as long as it is told, for weeks and for ever', async () => {
    for (const hours of [0, 1, 600, 2_000]) assert.equal(await fetchText(`${base}/text`, hours * 3_600_000), 'käse');
  });

  test('is refused by status, by time and by size', async () => {
    await assert.rejects(fetchText(`${base}/no`), { kind: 'input', message: `${base}/no: the server answered 404` });
    await assert.rejects(fetchText(`${base}/silent`, 50), { message: `${base}/silent: no answer within 0.05 s` });
    await assert.rejects(fetchText(`${base}/endless`), /more than 3 MiB/);
  });
});
