/** A transport to the control plane with the administrator's credentials. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/controller/clock.ts';
import { loadCredentials } from '../../src/kube/auth/credentials.ts';
import { loadAccess } from '../../src/kube/auth/kubeconfig.ts';
import { Transport } from '../../src/kube/transport/transport.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';

export function openTransport({ kubeconfig }: Pick<ControlPlane, 'kubeconfig'>, clock = systemClock): Transport {
  const access = loadAccess({ kubeconfig, env: {} });
  return new Transport({
    access,
    credentials: () => loadCredentials(access, { env: process.env }),
    userAgent: 'controller-test/1.0',
    env: {},
    clock,
    log: () => {},
  });
}

export async function until(condition: () => boolean, ms = 40_000): Promise<void> {
  const deadline = performance.now() + ms;
  while (!condition()) {
    assert.ok(performance.now() < deadline, `not within ${ms} ms`);
    await sleep(2);
  }
}
