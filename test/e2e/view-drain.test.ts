/** `D` of `view` while the kubeconfig changes, and when the process is ended. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { cli, kubectl, useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { productCommand } from '../cluster/product.ts';
import { openCommand, openTerminal } from './terminal.ts';

const staging = useCluster({ crd: true });
const prod = useCluster({ crd: true });

interface Kubeconfig {
  clusters: { cluster: object }[];
  users: { user: object }[];
}

async function kubeconfigOf(cluster: ControlPlane): Promise<Kubeconfig> {
  return JSON.parse((await kubectl(cluster, ['config', 'view', '--raw', '--flatten', '-o', 'json'])).stdout);
}

test('D drains on the cluster of the view, even if the current context changed', async t => {
  const names = { staging: staging(), prod: prod() };
  const parts: { name: string; cluster: object | undefined; user: object | undefined }[] = [];
  for (const [name, cluster] of Object.entries(names)) {
    await createNodes(cluster, [{ name: 'n1', labels: { 'node-role.kubernetes.io/worker': '' } }]);
    assert.equal((await cli(cluster, ['create', 'worker', '--reconcile'])).code, 0);
    const { clusters, users } = await kubeconfigOf(cluster);
    parts.push({ name, cluster: clusters[0]?.cluster, user: users[0]?.user });
  }
  const path = `${staging().dir}/two.json`;
  const use = (context: string) => {
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': context,
      clusters: parts.map(({ name, cluster }) => ({ name, cluster })),
      users: parts.map(({ name, user }) => ({ name, user })),
      contexts: parts.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
    };
    return writeFile(path, JSON.stringify(kubeconfig));
  };
  await use('staging');
  const terminal = openTerminal(t, staging(), ['view'], { env: { KUBECONFIG: path, NO_COLOR: '1' }, columns: 110 });
  await terminal.shows(/^>worker /m);
  await use('prod');
  const closed = async (cluster: ControlPlane) =>
    (await kubectl(cluster, ['get', 'node', 'n1', '-o', 'jsonpath={.spec.unschedulable}'])).stdout;

  terminal.type('D');
  await terminal.shows(/^This drains all nodes of pool worker on cluster staging\.[\s\S]*drain worker$/m);
  terminal.type('--context prod{enter}');
  await terminal.shows(/^error: --context cannot be given here: [\s\S]*Press enter to return/m);
  assert.deepEqual([await closed(staging()), await closed(prod())], ['', '']);
  terminal.type('{enter}');
  await terminal.shows(/^>worker /m);

  await terminal.asks('D', /nodepool drain worker /);
  terminal.type('{enter}');
  await terminal.shows(/\[y\/N\]$/m);
  terminal.type('y{enter}');
  await terminal.shows(/ drained \(1 node[\s\S]*Press enter to return/m);
  assert.deepEqual([await closed(staging()), await closed(prod())], ['true', '']);
});

test('a signal at the prompt for flags ends the process and restores the terminal', async t => {
  await createNodes(staging(), [{ name: 'n2', labels: { 'node-role.kubernetes.io/other': '' } }]);
  assert.equal((await cli(staging(), ['create', 'other', '--reconcile'])).code, 0);
  const line = [...productCommand(), 'view'].map(word => JSON.stringify(word)).join(' ');
  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    const script = `sh -c 'echo pid=$$; exec ${line}'; echo "code=$?"; stty -a; echo over`;
    const terminal = openCommand(t, staging(), ['sh', '-c', script], { columns: 120, rows: 40 });
    await terminal.shows(/^>other /m);
    terminal.type('D');
    await terminal.shows(/drain other$/m);
    process.kill(Number(/pid=(\d+)/.exec(terminal.written())?.[1]), signal);
    const shown = await terminal.shows(/^over$/m);
    assert.match(shown, new RegExp(`code=${code}`), signal);
    assert.match(shown, / icanon /, signal);
    assert.match(shown, / echo /, signal);
  }
});
