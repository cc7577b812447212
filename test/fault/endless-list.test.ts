/** A server, or a cache before it, that returns the same page forever. */
import assert from 'node:assert/strict';
import { cli } from '../cluster/harness.ts';
import { eventually } from '../e2e/watching.ts';
import { isList, isWatch } from './asked.ts';
import { converged, startChild, useFaultEnv } from './fault-env.ts';
import type { Treatment } from './proxy.ts';
import { row } from './row.ts';
import { answerWith } from './treatments.ts';

const NODES = '/api/v1/nodes';
const testEnv = useFaultEnv();

/** A page of the server in JSON, with a continue token. */
const samePage: Treatment = ({ client }) => {
  const page = { kind: 'NodeList', apiVersion: 'v1', metadata: { resourceVersion: '1', continue: 'again' }, items: [] };
  client.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(page));
};

row(
  {
    fault: 'invalid watch lines and bodies',
    slow: true,
    how: 'each page of nodes has the same continue token; then the first list of --watch gets 500 and 429',
    holds: 'an error after three pages; the watch retries until the list ends',
  },
  async t => {
    const [proxy, other, model] = [await testEnv.proxy(t), await testEnv.proxy(t), testEnv.model()];
    await model.addNodes({ name: 'a', labels: { 'node-role.kubernetes.io/one': '' } });
    await model.createPool('one', { labels: { tier: 'one' } });
    other.onRequest(({ path }) => (path === NODES ? samePage : undefined));
    const { code, stderr } = await cli({ ...testEnv.cluster(), kubeconfig: other.kubeconfig }, ['reconcile']);
    assert.equal(code, 1);
    assert.match(stderr, /cannot list nodes: .* gave the same continue token twice, so the list does not end; next: /);
    assert.ok(other.requests.filter(({ path }) => path === NODES).length <= 3);

    let refused = 0;
    const undo = proxy.onRequest(asked => {
      if (refused < 6) return answerWith(++refused % 2 === 0 ? 500 : 429, 'not now');
      if (asked.path !== NODES || !isList(asked)) return undefined;
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
