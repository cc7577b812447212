/** JSON watches and lists that are cut inside a line, contain something else, or do not end. */
import assert from 'node:assert/strict';
import { cli } from '../cluster/harness.ts';
import { eventually } from '../e2e/watching.ts';
import { type Asked, isList, isReconcileWrite, isWatch } from './asked.ts';
import { type Cut, Cutter, PLACES } from './cutter.ts';
import { converged, startChild, type Test, useFaultEnv } from './fault-env.ts';
import { CLASSES, POOLS } from './model.ts';
import { assertNeverBack, auditMark, createsAndDeletes } from './oracle.ts';
import type { FaultProxy, Treatment } from './proxy.ts';
import { row } from './row.ts';
import { begin, judge, type Run } from './runs.ts';
import { CREATES_AT_START, change, prepare } from './scenario.ts';
import { forgeNextLine } from './streams.ts';
import { answerWith } from './treatments.ts';

const RESOURCES = ['/api/v1/nodes', POOLS, CLASSES];
const HTML = '<!DOCTYPE html>\n<html>\n<body>Please log in</body>\n</html>\n';

const cutters = new WeakMap<FaultProxy, Cutter>();
const plain = useFaultEnv();
const testEnv = {
  ...plain,
  async proxy(t: Test) {
    const proxy = await plain.proxy(t);
    proxy.isJson = true;
    cutters.set(proxy, new Cutter(proxy));
    return proxy;
  },
};

const isWatchOf = (path: string) => (asked: Asked) => asked.path === path && isWatch(asked) && !isList(asked);
const lists = (requests: Asked[]) => requests.filter(isList).length;
const nextWatch = (proxy: FaultProxy, { id, path }: Asked) =>
  proxy.requests.find(later => later.id > id && isWatchOf(path)(later));

/** Waits until each of these watches was reopened, and checks that drift of a node and a RuntimeClass is repaired. */
async function goOn({ proxy, model }: Run, broken: Asked[]): Promise<void> {
  await eventually('the watches are asked for again', () => broken.every(asked => nextWatch(proxy, asked)), 30_000);
  await model.drift('moves', { tier: 'drifted' });
  await model.client.expect('DELETE', `${CLASSES}/node-pool-one`);
  await converged(model, proxy);
}

row(
  {
    fault: 'connection cut inside a line',
    how: 'each watch is cut three times inside a line, by the end of the response',
    holds: 'the watch resumes at the last resourceVersion; nothing is listed again',
  },
  async (t, facts) => {
    const run = await begin(testEnv, t);
    const { proxy, child, model } = run;
    const cutter = cutters.get(proxy);
    assert.ok(cutter);
    const begun = proxy.requests.length;
    const cutAll = async (path: string) => {
      const cuts: Cut[] = [];
      for (const place of PLACES) cuts.push(await cutter.next(path, place));
      return cuts;
    };
    const cutting = Promise.all(RESOURCES.map(cutAll));
    await change(model);
    const cuts = (await cutting).flat();
    await judge(testEnv, run);
    await goOn(
      run,
      cuts.map(({ asked }) => asked),
    );
    for (const { asked, versions } of cuts) {
      const from = nextWatch(proxy, asked)?.query.get('resourceVersion') ?? '';
      assert.ok(versions.includes(from), `${asked.path} was watched from ${from}, not ${versions.join(' or ')}`);
    }
    assert.equal(lists(proxy.requests.slice(begun)), 0);
    assert.equal(child.lines(/next attempt in/).length, cuts.length, child.log());
    assert.equal(await child.end(), 0);
    facts.cuts = cuts.length;
  },
);

/** Lines that are no watch event. */
const NO_EVENTS = [
  {},
  { hello: 'world' },
  null,
  42,
  [],
  'MODIFIED',
  { type: 'MODIFIED' },
  { type: 'MODIFIED', object: null },
  { type: 'DELETED', object: 'joins' },
  { type: 'RENAMED', object: { metadata: { name: 'joins', uid: 'x', resourceVersion: '1' } } },
  { type: 'BOOKMARK', object: {} },
];
/** Watch events without a valid object. */
const NO_OBJECTS = [
  { type: 'ADDED', object: {} },
  // The handler is required of a RuntimeClass.
  { type: 'MODIFIED', object: { metadata: { name: 'stays' }, handler: 'x' } },
  { type: 'DELETED', object: { metadata: { name: 'joins', uid: '' }, handler: 'x' } },
];
const JSON_LINES = [...NO_EVENTS, ...NO_OBJECTS].map(line => `${JSON.stringify(line)}\n`).join('');

row(
  {
    fault: 'invalid watch lines and bodies',
    how: 'JSON that is no watch event is inserted into each watch',
    holds: 'each is logged and skipped; no change is lost',
  },
  async (t, facts) => {
    const run = await begin(testEnv, t);
    const { proxy, child, model } = run;
    const begun = proxy.requests.length;
    const forging = Promise.all(RESOURCES.map(path => forgeNextLine(proxy, JSON_LINES, isWatchOf(path))));
    await change(model);
    await forging;
    await judge(testEnv, run);
    assert.equal(
      child.lines(/skipped a line of the watch that is not an event/).length,
      NO_EVENTS.length * 3,
      child.log(),
    );
    assert.equal(child.lines(/skipped an event: no name/).length, 3);
    assert.equal(child.lines(/skipped an event: (stays|joins) has no UID or resourceVersion/).length, 6);
    assert.equal(child.lines(/next attempt in/).length, 0);
    assert.equal(lists(proxy.requests.slice(begun)), 0);
    assert.equal(await child.end(), 0);
    facts.lines = (NO_EVENTS.length + NO_OBJECTS.length) * 3;
  },
);

/** Forwards the request and replaces the response. */
function lie(text: string): Treatment {
  return async ({ forward, client }) => {
    (await forward()).resume();
    client.writeHead(200, { 'content-type': 'text/html' }).end(text);
  };
}

row(
  {
    fault: 'invalid watch lines and bodies',
    how: 'lists and responses to writes are replaced by HTML, other JSON or half an object',
    holds: 'each is logged and retried; nothing is done twice',
  },
  async (t, facts) => {
    const [proxy, model] = [await testEnv.proxy(t), testEnv.model()];
    await prepare(model);
    const mark = await auditMark(testEnv.cluster());
    const [noPages, noAnswers] = [
      [HTML, 'null', '{"hello":"world"}', '{"metadata":{"resourceVersion":"1"},"items":{"a":1}}'],
      [HTML, 'null', '{}', '{"kind":"Node","metadata":{"na'],
    ];
    const reported = new Map<string, number>();
    /** The next false response for this name; undefined after the last one. */
    const nextOf = (name: string, lies: string[]) => {
      const count = reported.get(name) ?? 0;
      reported.set(name, count + 1);
      const text = lies[count];
      return text === undefined ? undefined : lie(text);
    };
    proxy.onRequest(asked => {
      const { method, path } = asked;
      if (isReconcileWrite(asked)) return nextOf(`${method} ${path}`, noAnswers);
      if (!isList(asked)) return undefined;
      if (path !== CLASSES) return isWatch(asked) && path !== POOLS ? nextOf(path, [HTML]) : undefined;
      return isWatch(asked) ? answerWith(422, 'sendInitialEvents is forbidden') : nextOf(path, noPages);
    });
    const forging = Promise.all(
      RESOURCES.slice(0, 2).map(path =>
        forgeNextLine(proxy, JSON_LINES, asked => asked.path === path && isList(asked)),
      ),
    );
    const child = startChild(t, proxy);
    await forging;
    await child.synced(60_000);
    await converged(model, proxy, 60_000);
    assert.deepEqual(await createsAndDeletes(testEnv.cluster(), mark), CREATES_AT_START);
    assert.equal(child.lines(/nodes: .*JSON.*next attempt in/).length, 1, child.log());
    assert.equal(child.lines(/runtimeclasses: .*next attempt in/).length, noPages.length, child.log());
    assert.equal(child.lines(/skipped a line of the list that is not an event/).length, NO_EVENTS.length * 2);
    assert.equal(child.lines(/skipped an object of the list/).length, NO_OBJECTS.length * 2);
    assert.ok(child.lines(/is not a Kubernetes API server/).length >= noAnswers.length);
    assertNeverBack(proxy.requests);
    assert.equal(await child.end(), 0);
    facts.lies = [...reported.values()].reduce((sum, count) => sum + count, 0);
  },
);

/** A page of the server in JSON, with a continue token. */
const samePage: Treatment = ({ client }) => {
  const page = { kind: 'NodeList', apiVersion: 'v1', metadata: { resourceVersion: '1', continue: 'again' }, items: [] };
  client.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(page));
};

row(
  {
    fault: 'invalid watch lines and bodies',
    slow: true,
    how: 'each page of nodes has the same continue token; then lists get 500 and 429',
    holds: 'an error after three pages; the watch retries until a list succeeds',
  },
  async t => {
    const [proxy, other, model] = [await plain.proxy(t), await plain.proxy(t), testEnv.model()];
    await model.addNodes({ name: 'a', labels: { 'node-role.kubernetes.io/one': '' } });
    await model.createPool('one', { labels: { tier: 'one' } });
    other.onRequest(({ path }) => (path === '/api/v1/nodes' ? samePage : undefined));
    const { code, stderr } = await cli({ ...testEnv.cluster(), kubeconfig: other.kubeconfig }, ['reconcile']);
    assert.equal(code, 1);
    assert.match(stderr, /cannot list nodes: .* sent the same continue token twice, so the list does not end; next: /);
    assert.ok(other.requests.filter(({ path }) => path === '/api/v1/nodes').length <= 3);

    let refused = 0;
    const undo = proxy.onRequest(asked => {
      if (refused < 6) return answerWith(++refused % 2 === 0 ? 500 : 429, 'not now');
      if (asked.path !== '/api/v1/nodes' || !isList(asked)) return undefined;
      return isWatch(asked) ? answerWith(422, 'sendInitialEvents is forbidden') : samePage;
    });
    const child = startChild(t, proxy);
    const endless = () => child.lines(/nodes: .*same continue token twice.*next attempt in/);
    await eventually('the list is given up', () => endless().length > 0, 60_000);
    assert.ok(child.isAlive, child.log());
    assert.match(child.log(), /cannot list nodepools: .*; retrying until the server answers/);
    undo();
    await child.synced(60_000);
    await converged(model, proxy);
    assert.equal(await child.end(), 0);
  },
);
