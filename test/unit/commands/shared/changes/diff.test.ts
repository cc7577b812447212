import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Connection } from '../../../../../src/cli/factory.ts';
import { showDiff } from '../../../../../src/commands/shared/changes/diff.ts';
import { ForbiddenError, type NodepoolError } from '../../../../../src/nodepool/errors.ts';
import type { Node } from '../../../../../src/nodepool/types.ts';
import { testIo } from '../../../cli/test-io.ts';
import { aNode, aPool } from '../../../nodepool/fixtures.ts';
import { role, server } from '../fake-server.ts';

/** For a user who may not list RuntimeClasses; undefined: nor nodes. */
async function show(nodes: Node[] | undefined, output?: 'json') {
  const { cluster } = server([aPool({ labels: { tier: 'gold' }, handler: 'runc' }, { name: 'a' })], nodes ?? []);
  const forbidden = new ForbiddenError('cannot list runtimeclasses', ['verb list on runtimeclasses']);
  const list = async () => Promise.reject(forbidden);
  const io = testIo();
  const noNodes = new ForbiddenError('cannot list nodes', ['verb list on nodes']);
  const readable =
    nodes === undefined ? { ...cluster.nodes, list: async () => Promise.reject(noNodes) } : cluster.nodes;
  const connection = {
    cluster: { ...cluster, nodes: readable, runtimeClasses: { ...cluster.runtimeClasses, list } },
  };
  const shown = showDiff({ all: true }, { output }, { io }, connection as unknown as Connection);
  const [count, error] = await shown.then(
    done => [done, undefined] as const,
    (refusal: NodepoolError) => [undefined, refusal] as const,
  );
  return { count, error, stdout: io.stdoutText(), stderr: io.stderrText() };
}

test('shows the nodes when RuntimeClasses cannot be read, with a note', async () => {
  const { count, stdout, stderr } = await show([aNode({ name: 'n1', labels: role('a') })]);
  assert.equal(count, 1);
  assert.match(stdout, /^node n1 .*\n.*tier=gold/);
  assert.doesNotMatch(stdout, /RuntimeClass/);
  assert.equal(
    stderr,
    'warning: RuntimeClasses are not shown: cannot list runtimeclasses; next: ask for a role with verb list on runtimeclasses\n',
  );
});

test('reports that RuntimeClasses could not be read instead of no difference', async () => {
  for (const output of [undefined, 'json'] as const) {
    const { error, stdout } = await show([], output);
    assert.equal(error?.message, 'cannot list runtimeclasses');
    assert.equal(stdout, '');
  }
});

test('prints null in the document for RuntimeClasses that were not read', async () => {
  const { count, stdout } = await show([aNode({ name: 'n1', labels: role('a') })], 'json');
  const { nodes, runtimeClasses } = JSON.parse(stdout) as { nodes: unknown[]; runtimeClasses: unknown };
  assert.deepEqual([count, nodes.length, runtimeClasses], [1, 1, null]);
});

test('names all missing permissions when nodes are forbidden', async () => {
  const { error } = await show(undefined);
  assert.deepEqual(error?.lines, ['the user lacks permissions:', 'cannot list nodes', 'cannot list runtimeclasses']);
});
