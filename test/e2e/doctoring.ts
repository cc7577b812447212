/** Runs `doctor -o json`. */
import assert from 'node:assert/strict';
import { CHECKS, type Check, type CheckId } from '../../src/commands/shared/check.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { commandsOf } from './commands.ts';

export const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';

/** The report of `doctor -o json`; checks that the exit code fits and that nothing was written. */
export function doctorOf(cluster: () => ControlPlane) {
  const { unchanged } = commandsOf(cluster);
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
    /** The findings that are not ok. */
    const troubles = checks.filter(check => check.status !== 'ok').map(check => `${check.id} ${check.status}`);
    return { find, troubles };
  };
}
