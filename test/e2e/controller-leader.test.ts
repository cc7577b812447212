/** Two candidates and one real Lease. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/controller/clock.ts';
import { LeaderElector } from '../../src/controller/leader-election.ts';
import { Api } from '../../src/kube/api/api.ts';
import { leasePort } from '../../src/kube/resources/leases.ts';
import { useCluster } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { openTransport, until } from './admin-transport.ts';

interface LeaseBody {
  metadata: { annotations?: Record<string, string> };
  spec: Record<string, unknown>;
}

describe('leader election on a Lease', () => {
  const cluster = useCluster();

  /** `cut` simulates a network failure: no further request is answered. */
  function candidate(identity: string, lease: string) {
    const transport = openTransport(cluster());
    const port = leasePort(new Api(transport, () => new Date()), transport, 'kube-system', lease);
    let [cut, asked] = [false, 0];
    const silent = <A extends unknown[], T>(call: (...args: A) => Promise<T>) => {
      return async (...args: A) => {
        if (cut) return new Promise<T>(() => {});
        const answer = await call(...args);
        asked += 1;
        return answer;
      };
    };
    const elector = new LeaderElector({
      port: { get: silent(port.get), create: silent(port.create), update: silent(port.update) },
      lease: `kube-system/${lease}`,
      identity,
      clock: systemClock,
      wall: () => new Date(),
      random: Math.random,
      log: () => {},
    });
    const events: string[] = [];
    const run = elector.run({
      onStarted: signal => {
        events.push('started');
        signal.addEventListener('abort', () => events.push('aborted'));
      },
    });
    return {
      elector,
      events,
      run,
      /** Requests that got a response. */
      asked: () => asked,
      cut: () => {
        cut = true;
      },
      close: () => transport.close(),
    };
  }

  async function read(lease: string): Promise<LeaseBody> {
    const path = `/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/${lease}`;
    return (await raw(cluster()).expect('GET', path)) as LeaseBody;
  }

  test('one of two becomes leader, renews and releases the Lease, and keeps foreign metadata', async () => {
    const a = candidate('a', 'handed-over');
    await until(() => a.elector.isLeader());
    const b = candidate('b', 'handed-over');
    await raw(cluster()).expect('PATCH', '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/handed-over', {
      metadata: { annotations: { note: 'kept' } },
    });
    const { spec } = await read('handed-over');
    assert.equal(spec.holderIdentity, 'a');
    assert.equal(spec.leaseDurationSeconds, 15);
    assert.equal(spec.leaseTransitions, 0);
    assert.match(String(spec.acquireTime), /^2\d{3}-.*\.\d{6}Z$/);
    await until(() => b.events.length > 0 || a.events.length > 1, 5_000).catch(() => {});
    const renewed = await read('handed-over');
    assert.notEqual(renewed.spec.renewTime, spec.renewTime);
    assert.equal(renewed.spec.acquireTime, spec.acquireTime);
    assert.equal(b.elector.isLeader(), false);
    const since = performance.now();
    await a.elector.stop({ release: true });
    assert.deepEqual(a.events, ['started', 'aborted']);
    assert.equal(a.elector.isLeader(), false);
    assert.equal(await a.run, 'stopped');
    await until(() => b.elector.isLeader());
    assert.ok(performance.now() - since < 10_000);
    const taken = await read('handed-over');
    assert.equal(taken.spec.holderIdentity, 'b');
    assert.equal(taken.spec.leaseTransitions, 1);
    assert.equal(taken.metadata.annotations?.note, 'kept');
    await b.elector.stop({ release: true });
    assert.equal((await read('handed-over')).spec.holderIdentity ?? '', '');
    a.close();
    b.close();
  });

  test('the leader recreates a deleted Lease, and nobody else becomes leader meanwhile', async () => {
    const a = candidate('a', 'deleted');
    await until(() => a.elector.isLeader());
    const b = candidate('b', 'deleted');
    await until(() => b.asked() > 0);
    const path = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/deleted';
    await raw(cluster()).expect('DELETE', path);
    const end = performance.now() + 6_000;
    while (performance.now() < end) {
      assert.equal(b.elector.isLeader(), false);
      assert.equal(a.elector.isLeader(), true);
      await sleep(50);
    }
    assert.equal((await read('deleted')).spec.holderIdentity, 'a');
    await a.elector.stop({ release: true });
    await b.elector.stop({ release: true });
    a.close();
    b.close();
  });

  test('a leader without connection stops before the other becomes leader, within 20 s', async () => {
    const a = candidate('a', 'lost');
    await until(() => a.elector.isLeader());
    const b = candidate('b', 'lost');
    const since = performance.now();
    a.cut();
    let both = false;
    await until(() => {
      both ||= a.elector.isLeader() && b.elector.isLeader();
      return b.elector.isLeader();
    }, 20_000);
    assert.ok(performance.now() - since > 12_000);
    assert.equal(both, false);
    assert.equal(await a.run, 'lost');
    assert.deepEqual(a.events, ['started', 'aborted']);
    await b.elector.stop({ release: true });
    a.close();
    b.close();
  });
});
