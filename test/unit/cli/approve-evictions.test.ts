import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approveEvictions } from '../../../src/cli/approve-evictions.ts';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import type { NodeAccess } from '../../../src/operations/node-access-port.ts';
import { aNode, taint } from '../nodepool/fixtures.ts';
import { testIo } from './test-io.ts';

const pod = {
  namespace: 'default',
  name: 'web',
  node: 'n1',
  tolerations: [],
  hasEnded: false,
  controller: 'ReplicaSet',
};
const access: NodeAccess = { select: async () => [], podsOn: async () => [pod] };
const plans = async () => [{ node: aNode(), patch: { resourceVersion: '1', taints: [taint('x:NoExecute')] } }];
const SHOWN = /^taints with the effect NoExecute evict 1 pod at once, from 1 node:\nNODE .*\nn1 .* default\/web\n/;

test('a script ends unless it says --yes; a dry run is shown alone', async () => {
  const io = testIo();
  await assert.rejects(approveEvictions({ yes: false, dryRun: false }, io, access)(plans), {
    message: 'taints with the effect NoExecute evict 1 pod at once, from 1 node; nothing was changed',
    next: 'if that is meant, run the command again with --yes',
  });
  assert.match(io.stderrText(), SHOWN);
  for (const approval of [
    { yes: true, dryRun: false },
    { yes: false, dryRun: true },
  ]) {
    const other = testIo();
    await approveEvictions(approval, other, access)(plans);
    assert.match(other.stderrText(), SHOWN);
  }
});

test('what cannot be read ends it, or with --yes is a warning', async () => {
  const forbidden = new NodepoolError('cluster', 'cannot list nodes', 'ask for a role');
  const refuse = async () => {
    throw forbidden;
  };
  const noPods: NodeAccess = { ...access, podsOn: refuse };
  const unknown = 'cannot tell which pods taints with the effect NoExecute would evict: cannot list nodes';
  for (const [read, by] of [
    [refuse, access],
    [plans, noPods],
  ] as const) {
    await assert.rejects(approveEvictions({ yes: false, dryRun: false }, testIo(), by)(read), {
      kind: 'cluster',
      message: unknown,
      next: 'ask for a role, or go on without knowing with --yes',
    });
    const io = testIo();
    await approveEvictions({ yes: true, dryRun: false }, io, by)(read);
    assert.equal(io.stderrText(), `warning: ${unknown}\n`);
  }
  const bug = async () => {
    throw new TypeError('a bug');
  };
  await assert.rejects(approveEvictions({ yes: true, dryRun: false }, testIo(), access)(bug), TypeError);
});

test('when no pod goes it says nothing', async () => {
  const io = testIo();
  await approveEvictions({ yes: false, dryRun: false }, io, { ...access, podsOn: async () => [] })(plans);
  await approveEvictions({ yes: false, dryRun: false }, io, access)(async () => []);
  assert.equal(io.stderrText(), '');
});
