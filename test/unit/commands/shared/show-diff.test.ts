import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Connection } from '../../../../src/cli/factory.ts';
import { showDiff } from '../../../../src/commands/shared/show-diff.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import type { Node } from '../../../../src/nodepool/types.ts';
import { testIo } from '../../cli/test-io.ts';
import { aNode, aPool } from '../../nodepool/fixtures.ts';
import { role, server } from '../../operations/fake-server.ts';

/** For a user who may not list RuntimeClasses; undefined: nor nodes. */
async function show(nodes: Node[] | undefined) {
  const { cluster } = server([aPool({ labels: { tier: 'gold' }, handler: 'runc' }, { name: 'a' })], nodes ?? []);
  const next = 'ask for a role';
  const forbidden = new NodepoolError('cluster', 'cannot list runtimeclasses', next, { isForbidden: true });
  const list = async () => Promise.reject(forbidden);
  const io = testIo();
  const noNodes = new NodepoolError('cluster', 'cannot list nodes', 'ask for a role', { isForbidden: true });
  const readable =
    nodes === undefined ? { ...cluster.nodes, list: async () => Promise.reject(noNodes) } : cluster.nodes;
  const connection = {
    cluster: { ...cluster, nodes: readable, runtimeClasses: { ...cluster.runtimeClasses, list } },
  };
  const count = await showDiff({ all: true }, undefined, { io }, connection as unknown as Connection);
  return { count, stdout: io.stdoutText(), stderr: io.stderrText() };
}

test('shows the nodes where RuntimeClasses may not be read, and says so', async () => {
  const { count, stdout, stderr } = await show([aNode({ name: 'n1', labels: role('a') })]);
  assert.equal(count, 1);
  assert.match(stdout, /^node n1 .*\n.*tier=gold/);
  assert.doesNotMatch(stdout, /RuntimeClass/);
  assert.equal(stderr, 'warning: RuntimeClasses are not shown: cannot list runtimeclasses; next: ask for a role\n');
});

test('says that RuntimeClasses could not be read rather than that there is no difference', async () => {
  await assert.rejects(show([]), { message: 'cannot list runtimeclasses' });
});

test('names all that is forbidden where nodes are, too', async () => {
  await assert.rejects(show(undefined), {
    lines: ['the user lacks permissions:', 'cannot list nodes', 'cannot list runtimeclasses'],
  });
});
