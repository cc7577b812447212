import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PassThrough } from 'node:stream';
import { after, before, describe, type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { readInput } from '../../../src/cli/input.ts';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import { testIo } from './test-io.ts';

const read = async (...args: Parameters<typeof readInput>) =>
  (await readInput(...args)).map(({ value, source }) => ({ value, source }));

test('a pipe without an end is not read to the end', async () => {
  const io = testIo();
  let written = 0;
  const chunk = 'x'.repeat(1024 * 1024);
  const feed = () => {
    while (!io.stdin.destroyed && (io.stdin as PassThrough).write(chunk)) written++;
  };
  io.stdin.on('drain', feed);
  feed();
  await assert.rejects(read(['-'], io), {
    kind: 'input',
    message: 'stdin: longer than 4194304 characters, the limit',
    next: 'split the file',
  });
  assert.ok(written < 64, `${written} MiB`);
});

describe('readInput', () => {
  const dir = mkdtempSync(join(tmpdir(), 'nodepool-input-'));
  before(() => {
    for (const [name, text] of [
      ['b.yaml', 'n: 2'],
      ['a.json', '{"n": 1}'],
      ['c.yml', 'n: 3'],
      ['notes.txt', 'n: 9'],
    ] as const) {
      writeFileSync(join(dir, name), text);
    }
    mkdirSync(join(dir, 'deeper'));
    writeFileSync(join(dir, 'deeper', 'd.yaml'), 'n: 4');
  });
  after(() => rmSync(dir, { recursive: true }));

  test('reads a file', async () => {
    const path = join(dir, 'b.yaml');
    assert.deepEqual(await read([path], testIo()), [{ value: { n: 2 }, source: `${path}:1` }]);
  });

  test('reads stdin', async () => {
    assert.deepEqual(await read(['-'], testIo({ stdin: 'n: 1\n---\nn: 2\n' })), [
      { value: { n: 1 }, source: 'stdin:1' },
      { value: { n: 2 }, source: 'stdin:3' },
    ]);
  });

  test('reads the manifests of a directory sorted by name, without subdirectories', async () => {
    const values = (await readInput([dir], testIo())).map(document => document.value);
    assert.deepEqual(values, [{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  test('reads subdirectories with recursive, by name in each directory', async () => {
    const values = (await readInput([dir], testIo(), { recursive: true })).map(document => document.value);
    assert.deepEqual(values, [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
  });

  test('reads files that match a pattern, and prefers a file with that name', async () => {
    const found = async (pattern: string) =>
      (await readInput([join(dir, pattern)], testIo())).map(({ source }) => source.slice(dir.length + 1, -2));
    for (const name of ['x1.yaml', 'x2.yaml', '.x3.yaml', 'x[1].yaml']) writeFileSync(join(dir, name), 'n: 1');
    const expected: [pattern: string, names: string[]][] = [
      ['*.yaml', ['.x3.yaml', 'b.yaml', 'x1.yaml', 'x2.yaml', 'x[1].yaml']],
      ['x?.yaml', ['x1.yaml', 'x2.yaml']],
      ['x[2-9].*', ['x2.yaml']],
      ['x[^2].yaml', ['x1.yaml']],
      ['x[1].yaml', ['x[1].yaml']],
      ['d*', ['deeper/d.yaml']],
      ['d*/*.yaml', ['deeper/d.yaml']],
      ['**/d.y?ml', ['deeper/d.yaml']],
      ['\\x1.yaml', ['x1.yaml']],
      ['d\\eeper/\\d.yaml', ['deeper/d.yaml']],
      ['x\\[[\\0-1]\\].*', ['x[1].yaml']],
    ];
    for (const [pattern, names] of expected) assert.deepEqual(await found(pattern), names, pattern);
    for (const pattern of ['y*', '*/*/*', 'x\\?.yaml', 'x[a].yaml', '*.yaml/a', `${'*a'.repeat(40)}b`]) {
      const path = join(dir, pattern);
      await assert.rejects(found(pattern), { kind: 'input', message: `${path}: no such file` }, pattern);
    }
    for (const pattern of ['[', 'x[9', '[]', '[^]', '[-a]', '[a-]', '[a-b-c]', 'x\\', 'a[/b]', 'none/[/*']) {
      const message = `${join(dir, pattern)}: syntax error in the pattern: an unclosed [ or a trailing \\`;
      await assert.rejects(found(pattern), { kind: 'input', message }, pattern);
    }
  });

  test('names the file of a directory that cannot be read', async () => {
    const link = join(dir, 'deeper', '.#d.yaml');
    symlinkSync('nowhere', link);
    await assert.rejects(readInput([join(dir, 'deeper')], testIo()), { message: `${link}: no such file` });
    rmSync(link);
  });

  test('refuses a missing path, an empty input and a duplicate pool', async () => {
    const empty = join(dir, 'empty.yaml');
    writeFileSync(empty, '---\n');
    await assert.rejects(readInput([join(dir, 'no.yaml')], testIo()), {
      kind: 'input',
      message: `${join(dir, 'no.yaml')}: no such file`,
      next: 'check the path',
    });
    await assert.rejects(readInput([empty], testIo()), {
      kind: 'input',
      message: `${empty}: contains no object`,
      next: 'add a pool to the file, or name another file',
    });
    await assert.rejects(readInput([empty], testIo(), { what: 'a pod' }), {
      next: 'add a pod to the file, or name another file',
    });
    await assert.rejects(readInput(['-', '-'], testIo({ stdin: '' })), { kind: 'usage' });
    rmSync(empty);
  });

  test('names the next step for text that is not YAML', async () => {
    await assert.rejects(readInput(['-'], testIo({ stdin: 'a: [' })), {
      message: /^stdin:1:\d+: not valid YAML: /,
      next: 'correct the input and run the command again',
    });
  });

  test('leaves secrets out of errors about text that may be a URL', async () => {
    const shown = {
      'https://user:pa/ssSECRET@host/x': 'https://...@host/x',
      'https://user:1/SECRET@host/x?a=SECRET': 'https://...@host/x',
      'https:user:SECRET@host/x': 'https:host/x',
      'https:/user:SECRET@host/x': 'https:/host/x',
      ' https://user:SECRET@host/x': 'https://host/x',
      ' https://user:pa/ssSECRET@host/x': 'https://...@host/x',
      ' https:user:SECRET@host/x?SECRET': 'https:host/x',
      '=https://user:SECRET@host/x': '=https://host/x',
      'https://user:pa?SECRET@host/x': 'https://...',
      'https://user:pa#SE@CRET@host/x': 'https://...',
      'ftp://user:SECRET@host/x': 'ftp://host/x',
      'user:SECRET@host/x': 'user:host/x',
      [`https:user:SECRET@${'h'.repeat(300)}`]: `https:${'h'.repeat(300)}`,
    };
    for (const [source, name] of Object.entries(shown)) {
      await assert.rejects(readInput([source], testIo(), { urlDeadlineMs: 1_000 }), error => {
        assert.ok(error instanceof NodepoolError);
        assert.equal(error.message.slice(0, name.length + 1), `${name}:`, source);
        assert.doesNotMatch(inspect(error), /SECRET|ss@|CRET/, source);
        return true;
      });
    }
  });

  test('shows a file name as it is unless it may be a URL', async () => {
    for (const source of ['no@such/a:b?c', './a:b@c?d', 'a:b?c', '/tmp/no#such.yaml', ' no.yaml']) {
      await assert.rejects(readInput([source], testIo()), { message: `${source}: no such file` });
    }
  });

  test('reads a URL, and reports its error status', async t => {
    const base = await serve(t, (request, response) => {
      response.statusCode = request.url === '/pools.yaml' ? 200 : 404;
      response.end('n: 1');
    });
    assert.deepEqual(await read([`${base}/pools.yaml`], testIo()), [
      { value: { n: 1 }, source: `${base}/pools.yaml:1` },
    ]);
    await assert.rejects(readInput([`${base}/no`], testIo()), {
      kind: 'input',
      message: `${base}/no: the server answered 404`,
    });
  });

  test('refuses a URL of another scheme, and hides its login and query', async () => {
    const urls = [
      'ftp://user:secret@host/x?token=secret',
      'FILE://user:secret@host/x',
      's3+v2://user:secret@host/x#secret',
    ];
    for (const url of urls) {
      const shown = `${url.slice(0, url.indexOf('://'))}://host/x`;
      await assert.rejects(readInput([url], testIo()), error => {
        assert.ok(error instanceof NodepoolError);
        assert.equal(error.oneLine, `${shown}: not an http or https URL`);
        assert.equal(error.next, 'use an http or https URL, or download the file and name it');
        return !inspect(error, { depth: 9 }).includes('secret');
      });
    }
  });

  test('reports a URL that refuses the connection', async () => {
    await assert.rejects(readInput(['http://127.0.0.1:1/x'], testIo()), {
      kind: 'input',
      message: /^http:\/\/127\.0\.0\.1:1\/x: \S+/,
      next: 'check the URL, and that its server is running',
    });
  });

  test('ends a slow or endless URL after the requested time', {
    timeout: 20_000,
  }, async t => {
    const base = await serve(t, (request, response) => {
      if (request.url === '/slow') response.write('n: 1\n');
    });
    for (const url of [`${base}/never`, `${base}/slow`]) {
      const start = performance.now();
      await assert.rejects(readInput([url], testIo(), { urlDeadlineMs: 200 }), {
        kind: 'input',
        message: `${url}: no answer within 0.2 s`,
        next: 'try again, or wait longer with --request-timeout',
      });
      assert.ok(performance.now() - start < 5_000);
    }
  });

  test('reads at most 3 MiB of a URL', { timeout: 20_000 }, async t => {
    const limit = 3 * 1024 * 1024;
    let sent = 0;
    const base = await serve(t, (request, response) => {
      if (request.url === '/endless') {
        const chunk = Buffer.alloc(65_536, '#');
        const more = () => {
          do sent += chunk.length;
          while (!response.destroyed && response.write(chunk));
        };
        response.on('drain', more);
        more();
      } else {
        response.end('n: 1\n'.padEnd(limit, '#'));
      }
    });
    assert.equal((await readInput([`${base}/full`], testIo())).length, 1);
    await assert.rejects(readInput([`${base}/endless`], testIo(), { urlDeadlineMs: 0 }), {
      kind: 'input',
      message: `${base}/endless: larger than 3 MiB, the limit of an API server`,
      next: 'check the URL, or split the file',
    });
    assert.ok(sent < 10 * limit, `${sent} bytes`);
  });
});

async function serve(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
