/** The reflector alone behind the proxy: its exact requests after a fault, and its events. */
import assert from 'node:assert/strict';
import { afterEach } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes, deleteNodes, labelNode } from '../cluster/nodes.ts';
import { until } from '../e2e/admin-transport.ts';
import { isList, isWatch } from './asked.ts';
import { type Following, follow, judge } from './following.ts';
import { row } from './row.ts';
import { cutNextLine, endWith, forgeNextLine, holdWatches } from './streams.ts';
import { answerWith } from './treatments.ts';

const cluster = useCluster();
afterEach(() => deleteNodes(cluster()));

for (const how of ['RST', 'FIN'] as const) {
  row(
    {
      fault: 'connection cut inside a line',
      how: `one watch is cut inside a line: ${how}`,
      holds: 'resumes at the last resourceVersion',
    },
    async (t, facts) => {
      await createNodes(cluster(), [{ name: 'a' }]);
      const following = await follow(t, cluster());
      const { proxy, reported, log, lists, versions } = following;
      const cut = cutNextLine(proxy, how);
      await labelNode(cluster(), 'a', { changed: 'yes' });
      await cut;
      await until(() => reported.length === 2);
      assert.deepEqual(reported, ['added a', 'updated a']);
      assert.equal(versions().length, 2);
      assert.equal(versions()[1], versions()[0]);
      assert.equal(lists(), 1);
      assert.match(log.join(), /next attempt in (0\.[89]|1\.[0-6]) s/);
      facts.relists = lists() - 1;
      await judge(following, 'a');
    },
  );
}

/** Inserts each before the next event of node a, which must still arrive. */
async function forgeInTurn({ proxy, reported }: Following, texts: readonly string[]): Promise<void> {
  for (const [index, forged] of texts.entries()) {
    const forging = forgeNextLine(proxy, forged);
    await labelNode(cluster(), 'a', { round: String(index) });
    await forging;
    await until(() => reported.length === 2 + index);
  }
}

row(
  {
    fault: 'invalid watch lines and bodies',
    how: 'one watch gets JSON that is no event, then invalid JSON',
    holds: 'logged and skipped; invalid JSON ends the watch; no change is lost',
  },
  async t => {
    await createNodes(cluster(), [{ name: 'a' }]);
    const following = await follow(t, cluster(), true);
    const { log, lists } = following;
    await forgeInTurn(following, ['{"hello":"world"}\n', '<html>\n']);
    assert.match(log[0] ?? '', /no event; skipped/);
    assert.equal(log.length, 2);
    assert.equal(lists(), 1);
    await judge(following, 'a');
  },
);

row(
  {
    fault: 'invalid watch lines and bodies',
    how: 'one watch in protobuf gets an invalid frame and an HTML page',
    holds: 'logged; no change is lost, no relist',
  },
  async t => {
    await createNodes(cluster(), [{ name: 'a' }]);
    const following = await follow(t, cluster());
    const { log, lists } = following;
    // As a frame of protobuf: one of 5 bytes, and one that would never end.
    await forgeInTurn(following, ['\0\0\0\u0005hello', '<html>\n']);
    assert.ok(log.length >= 2, log.join('\n'));
    assert.equal(lists(), 1);
    await judge(following, 'a');
  },
);

row(
  {
    fault: '429 with Retry-After',
    how: 'one watch gets a 429 with Retry-After: 3',
    holds: 'the delay is respected; no relist',
  },
  async (t, facts) => {
    const following = await follow(t, cluster());
    const { proxy, lists, watches, log } = following;
    const undo = proxy.onRequest(asked =>
      isWatch(asked) ? answerWith(429, 'too many', { 'retry-after': '3' }) : undefined,
    );
    proxy.cut();
    await until(() => watches().length === 2);
    undo();
    await until(() => watches().length === 3);
    const [, refused, next] = watches();
    const waited = (next?.at ?? 0) - (refused?.at ?? 0);
    assert.ok(waited >= 3_000 && waited < 4_000, `${waited} ms`);
    assert.equal(lists(), 1);
    assert.match(log.at(-1) ?? '', /answered 429.*next attempt in 3\.0 s/);
    facts.waitedMs = Math.round(waited);
    await createNodes(cluster(), [{ name: 'a' }]);
    await judge(following, 'a');
  },
);

const EXPIRED = { type: 'ERROR', object: { kind: 'Status', status: 'Failure', code: 410, reason: 'Expired' } };
const FAILED = { type: 'ERROR', object: { kind: 'Status', status: 'Failure', code: 500, message: 'boom' } };

row(
  {
    fault: '410 in the stream; HTTP 410',
    how: 'one watch gets a 410 as an event and as a response',
    holds: 'exactly one relist each; missed deletes are noticed',
  },
  async (t, facts) => {
    await createNodes(cluster(), [{ name: 'a' }, { name: 'b' }, { name: 'c' }]);
    const following = await follow(t, cluster(), true);
    const { proxy, reported, lists } = following;
    for (const [index, gone] of ['a', 'b'].entries()) {
      // Changes while the watch is held are only in the list that follows.
      const ending = index === 0 ? endWith(proxy, `${JSON.stringify(EXPIRED)}\n`) : undefined;
      const hold = index === 0 ? undefined : holdWatches(proxy);
      await deleteNodes(cluster(), [gone]);
      await ending;
      if (hold !== undefined) {
        await until(() => hold.held() > 0);
        const undo = proxy.onRequest(asked =>
          isList(asked) || !isWatch(asked) ? undefined : answerWith(410, 'too old resource version'),
        );
        proxy.cut();
        await until(() => lists() === 3);
        undo();
        hold.release();
      }
      await until(() => reported.includes(`deleted ${gone}`));
    }
    await createNodes(cluster(), [{ name: 'd' }]);
    await until(() => reported.includes('added d'));
    assert.equal(lists(), 3);
    facts.relists = lists() - 1;
    await judge(following, 'a', 'b', 'c', 'd');
  },
);

row(
  {
    fault: '500, in-stream error, refused connection',
    how: 'one watch gets a 500 as an event and as a response',
    holds: 'resumes without a list',
  },
  async t => {
    await createNodes(cluster(), [{ name: 'a' }]);
    const following = await follow(t, cluster(), true);
    const { proxy, reported, lists, versions } = following;
    const ending = endWith(proxy, `${JSON.stringify(FAILED)}\n`);
    await labelNode(cluster(), 'a', { changed: 'yes' });
    await ending;
    const undo = proxy.onRequest(asked => (isWatch(asked) ? answerWith(500, 'boom') : undefined));
    await until(() => versions().length === 2);
    undo();
    await until(() => reported.length === 2);
    assert.deepEqual(reported, ['added a', 'updated a']);
    assert.equal(new Set(versions()).size, 1);
    assert.equal(lists(), 1);
    await judge(following, 'a');
  },
);

row(
  {
    fault: 'silent hang',
    slow: true,
    how: 'one watch goes silent with open sockets; another one, of 2,000 nodes, ends at its timeout',
    holds: 'noticed within 45 s; no relist; resuming costs one small request',
  },
  async (t, facts) => {
    const names = Array.from({ length: 2_000 }, (_, index) => `node-${index}`);
    await createNodes(
      cluster(),
      names.map(name => ({ name })),
    );
    const [silent, other] = [await follow(t, cluster()), await follow(t, cluster())];
    // A server that is busy with so many nodes may have ended a list, which is not judged here.
    const [silentLists, otherLists] = [silent.lists(), other.lists()];
    for (const { log } of [silent, other]) log.length = 0;
    let bytes = 0;
    other.proxy.onPiece((_asked, piece) => {
      bytes += piece.length;
      return undefined;
    });
    // The 30 s count from the last byte: one that the test sees pass.
    let since = 0;
    const undo = silent.proxy.onPiece(() => {
      since = performance.now();
      return undefined;
    });
    await labelNode(cluster(), 'node-6', { changed: 'yes' });
    await until(() => silent.reported.length === 2_001);
    undo();
    const speak = silent.proxy.silence();
    await createNodes(cluster(), [{ name: 'unseen' }]);
    await until(() => silent.log.length > 0, 45_000);
    const seconds = (performance.now() - since) / 1000;
    speak();
    assert.ok(seconds > 30, `${seconds} s; ${silent.log}`);
    assert.match(silent.log[0] ?? '', /fell silent/);
    await until(() => silent.reported.length === 2_002);
    assert.equal(silent.reported.at(-1), 'added unseen');
    assert.deepEqual([silent.lists() - silentLists, silent.watches().length], [0, 2]);
    facts.noticedAfterSeconds = Math.round(seconds);

    await until(() => other.watches().length >= 2, 45_000);
    const before = other.reported.length;
    await labelNode(cluster(), 'node-7', { changed: 'yes' });
    await until(() => other.reported.length > before);
    assert.equal(other.reported.at(-1), 'updated node-7');
    assert.deepEqual([other.lists() - otherLists, other.log], [0, []]);
    // One or two bookmarks, and the three nodes.
    assert.ok(bytes < 40_000, `${bytes} bytes`);
    facts.bytesToGoOn = bytes;
    for (const following of [silent, other]) await judge(following, ...names, 'unseen');
  },
);
