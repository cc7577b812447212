/** A list whose continue token expired, on a real kube-apiserver. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Api } from '../../src/kube/api/api.ts';
import { EVENTS } from '../../src/kube/api/resource.ts';
import type { Request } from '../../src/kube/transport/request.ts';
import { askEtcd } from '../cluster/etcd-keys.ts';
import { useCluster } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { openTransport } from './admin-transport.ts';

const cluster = useCluster({ own: true });

test('restarts a list once when its continue token expired', async t => {
  // Events have no watch cache, so a compacted revision shows at once.
  const events = '/apis/events.k8s.io/v1/namespaces/default/events';
  const admin = raw(cluster());
  const make = (i: number) => admin.expect('POST', events, event(`listed-${i}`));
  await Promise.all(Array.from({ length: 600 }, (_, i) => make(i)));
  const transport = openTransport(cluster());
  t.after(() => transport.close());
  const first = JSON.parse((await transport.request({ path: events, query: { limit: '1' } })).text);
  await make(600);
  // As the API server does every five minutes.
  await askEtcd(cluster().etcdUrl, 'compaction', {
    revision: Number(first.metadata.resourceVersion) + 1,
    physical: true,
  });

  const asked: (string | undefined)[] = [];
  let [stale, seen] = [1, 0];
  const real = transport.request.bind(transport);
  transport.request = async (request: Request) => {
    const token = request.query?.continue;
    asked.push(token === undefined ? 'start' : 'next');
    const old = token !== undefined && stale-- > 0;
    const answer = await real(
      old ? { ...request, query: { ...request.query, continue: first.metadata.continue } } : request,
    );
    if (answer.status === 410) seen += 1;
    return answer;
  };
  const api = new Api(transport, () => new Date());
  let restarts = 0;
  const nameOf = (item: { metadata: { name: string } }) => item.metadata.name;
  const names = await api.list(EVENTS, nameOf, {}, () => {
    restarts += 1;
  });
  assert.deepEqual([seen, restarts], [1, 1]);
  assert.deepEqual(asked, ['start', 'next', 'start', 'next']);
  const listed = names.filter(name => name.startsWith('listed-'));
  assert.equal(listed.length, 601);
  assert.equal(new Set(listed).size, 601);

  [stale, seen] = [9, 0];
  await assert.rejects(
    api.list(EVENTS, () => 0),
    /^NodepoolError: cannot list events: .* 410: /,
  );
  assert.equal(seen, 2);
});

function event(name: string) {
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name, namespace: 'default' },
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'test',
    reportingInstance: 'test',
    action: 'Test',
    reason: 'Test',
    type: 'Normal',
    note: name,
    regarding: { kind: 'Node', name: 'a', namespace: 'default' },
  };
}
