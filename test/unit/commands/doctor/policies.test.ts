import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkPolicies } from '../../../../src/commands/doctor/policies.ts';
import { type BornInPool, MEMBERSHIP, RECORDS } from '../../../../src/commands/shared/install/admission-policies.ts';

test('warns of policies that somebody has applied and that are only partly in force', () => {
  const statusOf = (off: string[], ...born: BornInPool[]) => checkPolicies(off, undefined, born[0]).status;
  assert.equal(statusOf([]), 'ok');
  assert.equal(statusOf([RECORDS, MEMBERSHIP]), 'ok', 'nobody has applied them');
  for (const one of [RECORDS, MEMBERSHIP]) assert.equal(statusOf([one]), 'warning', one);
  assert.equal(statusOf([MEMBERSHIP], { kind: 'installed', off: [] }), 'warning');
});
