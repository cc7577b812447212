import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { answer, fakeNames, START } from './fake-names.ts';

/** A format that this version does not write. */
const ODD = '{"at":1767225600000,"names":["g"],"labelKeys":[],"recorded":{"gpu":"node"}}';

describe('the cache of names', () => {
  const folder = (t: { after(end: () => void): void }) => {
    const path = mkdtempSync(join(tmpdir(), 'nodepool-completion-'));
    t.after(() => rmSync(path, { recursive: true }));
    return path;
  };
  const later = (ms: number) => new Date(START.getTime() + ms);

  test('answers for 10 s, and for 5 minutes when the cluster does not answer', async t => {
    const cache = folder(t);
    const port = fakeNames();
    const ask = (now: Date, other = port) => answer(['get', 'w'], { cache, port: other, now });
    const names = 'web\nworker\n:4\n';
    assert.equal(await ask(START), names);
    assert.equal(await ask(later(9_999)), names);
    assert.deepEqual(port.asked, ['pools 800']);
    assert.equal(await ask(later(10_000)), names);
    // With cached names it waits less.
    assert.deepEqual(port.asked, ['pools 800', 'pools 300']);
    const deaf = fakeNames({ list: () => Promise.reject(new Error('late')) });
    assert.equal(await ask(later(309_999), deaf), names);
    assert.equal(await ask(later(310_000), deaf), ':4\n');
    assert.equal(await ask(later(100_000), fakeNames({ isQuiet: () => false })), names);
    // The clock was set back.
    assert.equal(await ask(later(-1), deaf), ':4\n');
  });

  test('is readable by its user only, with one file for each server and user', async t => {
    const cache = folder(t);
    await answer(['get', ''], { cache });
    await answer(['create', '--nodes', ''], { cache });
    await answer(['get', ''], { cache, port: fakeNames({ identity: () => 'another' }) });
    const path = join(cache, 'kubectl-nodepool', 'completion');
    const files = readdirSync(path);
    assert.equal(files.length, 3);
    for (const file of files) assert.equal(statSync(join(path, file)).mode & 0o777, 0o600);
    assert.equal(statSync(path).mode & 0o777, 0o700);
  });

  test('is ignored when damaged or not writable, and old files are deleted', async t => {
    const cache = folder(t);
    await answer(['get', ''], { cache });
    const path = join(cache, 'kubectl-nodepool', 'completion');
    const [file = ''] = readdirSync(path);
    for (const text of ['', '[]', '{"at":1}', '{"at":0,"names":[1],"labelKeys":[]}', ODD]) {
      writeFileSync(join(path, file), text);
      assert.equal(await answer(['get', 'g'], { cache }), 'gpu\n:4\n');
    }
    writeFileSync(join(path, 'old.json'), '{}');
    utimesSync(join(path, 'old.json'), later(-86_400_001), later(-86_400_001));
    await answer(['get', ''], { cache, now: later(20_000) });
    assert.deepEqual(readdirSync(path), [file]);
    writeFileSync(join(cache, 'file'), '');
    assert.equal(await answer(['get', 'g'], { cache: join(cache, 'file') }), 'gpu\n:4\n');
  });
});
