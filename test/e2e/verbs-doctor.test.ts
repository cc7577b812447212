/** Each check of `doctor` on a real server, with what is wrong brought about. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { Check, CheckId } from '../../src/operations/doctor/check.ts';
import { CHECKS } from '../../src/operations/doctor/check.ts';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { cli, useCluster } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { verbsOf } from './verbs.ts';
import { eventually, startWatching } from './watching.ts';
import { role, useWorld } from './world.ts';

const DEFINITION = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.nodes.lailin.xyz';
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';

/** What a run of `doctor -o json` says, after seeing that its exit code fits and that nothing was written. */
function doctorOf(cluster: () => Parameters<typeof cli>[0]) {
  const { unchanged } = verbsOf(cluster);
  return async (...args: string[]) => {
    const { code, stdout, stderr } = await unchanged(['doctor', '-o', 'json', ...args]);
    assert.equal(stderr, '');
    const { status, checks } = JSON.parse(stdout) as { status: string; checks: Check[] };
    assert.equal(code, status === 'error' ? 1 : 0);
    assert.deepEqual(
      checks.map(({ id }) => id),
      [...CHECKS],
    );
    const find = (id: CheckId): Check => {
      const found = checks.find(check => check.id === id);
      assert.ok(found);
      return found;
    };
    /** Those that are not ok. */
    const troubles = checks.filter(check => check.status !== 'ok').map(check => `${check.id} ${check.status}`);
    return { find, troubles };
  };
}

describe('before and after install', () => {
  const cluster = useCluster({});
  const doctor = doctorOf(cluster);
  const { ok } = verbsOf(cluster);
  const STATE = ['overlaps', 'orphans', 'pools', 'specs', 'handlers', 'quantities'];

  test('no kubeconfig, a broken one, a server that is gone: the rest is skipped', async () => {
    const others = CHECKS.slice(1).map(id => `${id} skipped`);
    const none = await doctor('--kubeconfig', '/no/such');
    assert.deepEqual(none.troubles, ['kubeconfig error', ...others]);
    assert.equal(none.find('kubeconfig').message, '--kubeconfig: there is no file /no/such');
    assert.equal(none.find('kubeconfig').remedy, 'check the path');

    const broken = join(cluster().dir, 'broken.kubeconfig');
    await writeFile(broken, 'clusters: [\n');
    assert.match(
      (await doctor('--kubeconfig', broken)).find('kubeconfig').message,
      /broken.kubeconfig is malformed: line/,
    );

    const gone = join(cluster().dir, 'gone.kubeconfig');
    const text = await readFile(cluster().kubeconfig, 'utf8');
    await writeFile(gone, text.replace(cluster().server, 'https://127.0.0.1:1'));
    const unreachable = await doctor('--kubeconfig', gone);
    assert.deepEqual(unreachable.troubles, ['server error', ...others.slice(1)]);
    assert.match(
      unreachable.find('server').message,
      /^cannot reach the server https:\/\/127.0.0.1:1: connection refused$/,
    );

    await writeFile(gone, text.replace(/client-certificate-data: .*\n.*/, 'token: not-one'));
    const unknown = await doctor('--kubeconfig', gone);
    assert.match(unknown.find('server').message, /refused the credentials of user "nodepool-demo" \(401\)$/);
  });

  test('no definition', async () => {
    const { find, troubles } = await doctor();
    const skipped = STATE.map(id => `${id} skipped`);
    assert.deepEqual(troubles, ['definition error', 'controller-permissions skipped', ...skipped]);
    assert.equal(find('definition').remedy, 'run `kubectl nodepool install`');
    const { kubeconfig, server } = cluster();
    assert.equal(
      find('kubeconfig').message,
      `${kubeconfig}: context nodepool-demo, cluster nodepool-demo, user nodepool-demo`,
    );
    assert.match(find('server').message, new RegExp(`^${server} answers in \\d+ ms$`));
    assert.equal(find('version').message, 'Kubernetes v1.36.3');
    const bob = await kubeconfigFor(cluster(), 'bob');
    const { find: bobs } = await doctor('--kubeconfig', bob);
    assert.equal(bobs('definition').remedy, 'ask for a role with verb list on nodepools.nodes.lailin.xyz');
  });

  test('an old definition, its pools, and this one', async () => {
    await ok(['install']);
    const installed = (await raw(cluster()).expect('GET', DEFINITION)) as Definition;
    const schema = installed.spec.versions[0].schema.openAPIV3Schema;
    // The rules speak of fields that are about to go.
    delete schema['x-kubernetes-validations'];
    const { properties } = schema;
    const { nodeSelector: _, unmanaged: __, ...known } = properties.spec.properties;
    properties.spec = { type: 'object', properties: { ...known, handler: { type: 'string' } } };
    await raw(cluster()).expect('PUT', DEFINITION, installed);
    // What served the definition before ends first, and answers 503 until then.
    const bad = {
      apiVersion: 'nodes.lailin.xyz/v1',
      kind: 'NodePool',
      metadata: { name: 'bad' },
      spec: { handler: 'No' },
    };
    await eventually(
      'the server takes it',
      async () => (await raw(cluster()).request('POST', POOLS, bad)).status === 201,
    );

    const old = await doctor();
    assert.equal(old.find('definition').status, 'error');
    assert.deepEqual(old.find('definition').details, [
      'there is no field spec.nodeSelector',
      'there is no field spec.unmanaged',
    ]);
    assert.equal(old.find('specs').status, 'error');
    assert.match(old.find('specs').details[0] ?? '', /^bad: spec.handler: "No" must be of lower case/);

    await ok(['install']);
    const now = await doctor();
    assert.equal(now.find('definition').status, 'ok');
    assert.equal(now.find('specs').status, 'error', 'the pool is as it was');
    const stricter = (await raw(cluster()).expect('GET', DEFINITION)) as Definition;
    stricter.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.labels.maxProperties = 7;
    await raw(cluster()).expect('PUT', DEFINITION, stricter);
    // What serves the pools is being replaced: who looks at them before and after may get 503.
    const { checks } = JSON.parse((await cli(cluster(), ['doctor', '-o', 'json'])).stdout) as { checks: Check[] };
    const { status, details } = checks.find(({ id }) => id === 'definition') ?? {};
    assert.deepEqual([status, details], ['warning', ['spec.versions[v1].schema']]);
  });
});

interface Definition {
  spec: { versions: [{ schema: { openAPIV3Schema: RootSchema } }] };
}
interface RootSchema {
  'x-kubernetes-validations'?: object[];
  properties: { spec: SpecSchema };
}

interface SpecSchema {
  type: string;
  properties: Record<string, Record<string, unknown>> & { labels: Record<string, unknown> };
}

describe('a cluster at work', () => {
  const world = useWorld();
  const { cluster } = world;
  const doctor = doctorOf(cluster);
  const { ok } = verbsOf(cluster);
  const api = () => raw(cluster());

  /** Says what its runtime offers, as a kubelet does. */
  const offer = (node: string, ...handlers: string[]) =>
    api().expect('PATCH', `/api/v1/nodes/${node}/status`, {
      status: { runtimeHandlers: handlers.map(name => ({ name })) },
    });

  test('all is well', async () => {
    await world.nodes({ name: 'a', labels: role('gpu') });
    await world.pool('gpu', { labels: { tier: 'gold' }, handler: 'nvidia' });
    await offer('a', '', 'runc', 'nvidia');
    await world.reconcile();
    const { find, troubles } = await doctor();
    assert.deepEqual(troubles, ['controller-permissions skipped']);
    assert.equal(find('pools').message, 'the one pool is 200');
    assert.equal(find('handlers').message, 'no member is known to lack the runtime handler of its pool');
    const text = await ok(['doctor']);
    assert.match(text, /^ok {7}kubeconfig {14}\//);
    assert.match(text, /\n\n14 checks: 13 ok, 1 skipped\n$/);
  });

  test('overlaps, pools that are not 200 or that nobody reconciled', async () => {
    await world.nodes({ name: 'a', labels: { ...role('one'), ...role('two') } });
    await world.pool('one', { labels: { tier: 'gold' } });
    await world.pool('two', {}, { younger: true });
    const fresh = await doctor();
    assert.deepEqual(fresh.troubles, ['controller-permissions skipped', 'overlaps error', 'pools warning']);
    assert.deepEqual(fresh.find('pools').details, ['one: never reconciled', 'two: never reconciled']);
    await world.reconcile();
    const { find } = await doctor();
    assert.deepEqual(find('overlaps').details, ['two does not get 1 node of one: a']);
    assert.equal(find('pools').status, 'error');
    assert.deepEqual(find('pools').details, [
      'two: 409 Conflict: node a belongs to pool one and also matches pool two',
    ]);
  });

  test('records of pools that are gone', async () => {
    await world.nodes({ name: 'a', labels: role('one') });
    await world.pool('one', { labels: { tier: 'gold' } });
    await world.reconcile();
    await world.edit('one', { metadata: { finalizers: [] } });
    await api().expect('DELETE', `${POOLS}/one`);
    const { find, troubles } = await doctor();
    assert.deepEqual(troubles, ['controller-permissions skipped', 'orphans warning']);
    assert.deepEqual(find('orphans').details, ['pool one is gone, and what it set is still on 1 node: a']);
    await ok(['reconcile']);
    assert.deepEqual((await doctor()).troubles, ['controller-permissions skipped']);
  });

  test('a handler that members do not offer', async () => {
    await world.nodes(
      { name: 'a', labels: role('gpu') },
      { name: 'b', labels: role('gpu') },
      { name: 'c', labels: role('gpu') },
    );
    await offer('a', '', 'runc');
    await offer('b', '', 'nvidia');
    await world.pool('gpu', { handler: 'nvidia' });
    await world.reconcile();
    const { find, troubles } = await doctor();
    assert.deepEqual(troubles, ['controller-permissions skipped', 'handlers error']);
    assert.deepEqual(find('handlers').details, ['gpu: 1 member of 3 without nvidia: a']);
  });

  test('users who may do little, and nothing', async () => {
    await world.nodes({ name: 'a', labels: role('gpu') });
    await world.pool('gpu');
    await world.reconcile();
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    const rules = [{ apiGroups: ['', 'nodes.lailin.xyz', 'node.k8s.io'], resources: ['*'], verbs: ['get', 'list'] }];
    await api().expect('POST', `${rbac}/clusterroles`, { metadata: { name: 'rita' }, rules });
    await api().expect('POST', `${rbac}/clusterrolebindings`, {
      metadata: { name: 'rita' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'rita' },
      subjects: [{ kind: 'User', name: 'rita', apiGroup: 'rbac.authorization.k8s.io' }],
    });
    const rita = await kubeconfigFor(cluster(), 'rita');
    await eventually('the role counts', async () => (await cli(cluster(), ['get', '--kubeconfig', rita])).code === 0);
    const { find, troubles } = await doctor('--kubeconfig', rita);
    assert.deepEqual(troubles, ['permissions warning', 'controller-permissions warning', 'controller warning']);
    const { details } = find('permissions');
    assert.ok(details.includes('edit lacks: patch nodepools.nodes.lailin.xyz'), details.join('\n'));
    assert.ok(!details.some(detail => detail.startsWith('get lacks')), details.join('\n'));
    assert.match(find('controller').message, /^not checked: cannot get \w+ ".*": user "rita" lacks the permission$/);
    assert.match(find('definition').message, /^the NodePool resource is served; not compared/);

    const bob = await kubeconfigFor(cluster(), 'bob');
    const nobody = await doctor('--kubeconfig', bob);
    assert.equal(nobody.find('permissions').status, 'error');
    assert.equal(nobody.find('definition').status, 'error');
    assert.equal(nobody.find('overlaps').status, 'skipped');
  });

  test('a controller that is at work, and one that died', async t => {
    t.after(() => api().request('DELETE', `${LEASES}/kubectl-nodepool`));
    const watching = await startWatching(t, cluster(), '--leader-elect');
    await eventually('it leads', async () => (await api().request('GET', `${LEASES}/kubectl-nodepool`)).status === 200);
    const alive = await doctor();
    assert.deepEqual(alive.troubles, ['controller-permissions skipped']);
    assert.match(
      alive.find('controller').details[0] ?? '',
      /^lease kube-system\/kubectl-nodepool: held by .*, renewed \d seconds? ago$/,
    );
    await watching.end();
    const given = await doctor();
    assert.equal(given.find('controller').status, 'ok');
    assert.match(given.find('controller').message, /^no controller holds a lease/);
    const long = new Date(Date.now() - 60_000).toISOString().replace('Z', '000Z');
    await api().expect('PATCH', `${LEASES}/kubectl-nodepool`, {
      spec: { holderIdentity: 'dead', renewTime: long, leaseDurationSeconds: 15 },
    });
    const { find, troubles } = await doctor();
    assert.deepEqual(troubles, ['controller-permissions skipped', 'controller warning']);
    assert.match(find('controller').details[0] ?? '', /held by dead, renewed \d+ seconds ago; it lasts 15$/);
  });

  test('the controller in the cluster: at work, and with the permissions of its manifest', async () => {
    await ok(['install', '--controller', '--image', 'registry.example.com/kubectl-nodepool:0.1.0']);
    const { find, troubles } = await doctor();
    assert.deepEqual(troubles, ['controller error']);
    assert.match(find('controller').message, /installed in the cluster and not at work/);
    const account = 'system:serviceaccount:nodepool-system:nodepool-controller';
    assert.equal(find('controller-permissions').message, `${account} may do what the controller asks for`);
    const binding = '/apis/rbac.authorization.k8s.io/v1/namespaces/nodepool-system/rolebindings/nodepool-controller';
    await api().expect('DELETE', binding);
    await eventually('it counts', async () => (await doctor()).troubles.includes('controller-permissions error'));
    assert.deepEqual((await doctor()).find('controller-permissions').details, [
      'create leases.coordination.k8s.io in nodepool-system',
      'get leases.coordination.k8s.io "kubectl-nodepool" in nodepool-system',
      'patch leases.coordination.k8s.io "kubectl-nodepool" in nodepool-system',
    ]);
    await ok(['uninstall', '--controller', '--yes']);
  });

  describe('behind a relay', () => {
    /** A kubeconfig of a server that is this one but for its clock and its version. */
    async function relayed(t: TestContext, { aheadMs = 0, version }: { aheadMs?: number; version?: string }) {
      const { server, ca, admin, dir } = cluster();
      const agent = new Agent({ ca, ...admin });
      const front = createServer((incoming, outgoing) => {
        const headers = { ...incoming.headers, host: new URL(server).host };
        const url = new URL(incoming.url ?? '', server);
        const up = request(url, { method: incoming.method, agent, headers }, answer => {
          const date = new Date(Date.now() + aheadMs).toUTCString();
          if (version === undefined || incoming.url !== '/version') {
            outgoing.writeHead(answer.statusCode ?? 0, { ...answer.headers, date });
            answer.pipe(outgoing);
          } else {
            answer.resume();
            outgoing.writeHead(200, { 'content-type': 'application/json', date });
            outgoing.end(JSON.stringify({ gitVersion: version }));
          }
        });
        incoming.pipe(up);
      });
      await new Promise<void>(resolve => front.listen(0, '127.0.0.1', resolve));
      t.after(() => {
        front.closeAllConnections();
        front.close();
        agent.destroy();
      });
      const path = join(dir, `relay-${aheadMs}-${version}.kubeconfig`);
      const address = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
      await writeFile(path, (await readFile(cluster().kubeconfig, 'utf8')).replace(server, address));
      return path;
    }

    test('clocks that differ', async t => {
      const late = await doctor('--kubeconfig', await relayed(t, { aheadMs: 60_000 }));
      assert.deepEqual(late.troubles, ['kubeconfig warning', 'controller-permissions skipped', 'clock warning']);
      assert.match(late.find('clock').message, /^this machine's clock is (59|60|61) s behind the server's$/);
      const far = await doctor('--kubeconfig', await relayed(t, { aheadMs: -3_600_000 }));
      assert.equal(far.find('clock').status, 'error');
    });

    test('a server that is too old', async t => {
      const { find } = await doctor('--kubeconfig', await relayed(t, { version: 'v1.29.9' }));
      assert.deepEqual([find('version').status, find('version').message], ['error', 'Kubernetes v1.29.9 is too old']);
    });
  });
});
