/** A token that expires while `view` runs: the exec plugin runs while the dashboard owns the terminal. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { cli, useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { answering, EXEC_V1, writeKubeconfig, writePlugin } from './login-files.ts';
import { openTerminal } from './terminal.ts';

const cluster = useCluster({ crd: true }, async started => {
  await createNodes(started, [{ name: 'worker-1', labels: { 'node-role.kubernetes.io/worker': '' } }]);
  const { code, stderr } = await cli(started, ['create', 'worker', '--label', 'a=b', '--reconcile']);
  assert.equal(code, 0, stderr);
});

test('an exec plugin under view reads no keys, and its output does not disturb the screen', async t => {
  const { cert, key } = cluster().admin;
  const status = { clientCertificateData: cert, clientKeyData: key, expirationTimestamp: '2001-01-01T00:00:00Z' };
  const command = await writePlugin(
    cluster(),
    `echo "$KUBERNETES_EXEC_INFO" >> "$0.told"; echo 'a word of the plugin' >&2; ${await answering(cluster(), status)}`,
  );
  const user = { exec: { apiVersion: EXEC_V1, command, interactiveMode: 'IfAvailable' } };
  const KUBECONFIG = await writeKubeconfig(cluster(), user);
  const reported = () => readFileSync(`${command}.told`, 'utf8').trim().split('\n');
  const terminal = openTerminal(t, cluster(), ['view'], { env: { NO_COLOR: '1', KUBECONFIG } });
  await terminal.shows(/^>worker /m);
  assert.match(reported()[0] ?? '', /"interactive":true/);
  assert.match(terminal.written(), /a word of the plugin/);
  // The expiry is checked once a second.
  await new Promise(resolve => setTimeout(resolve, 1_100));
  const [before, written] = [reported().length, terminal.written().length];
  terminal.type('{enter}');
  await terminal.shows(/^>worker-1 /m);
  terminal.type('c');
  await terminal.shows(/Cordon node worker-1\?/);
  terminal.type('y');
  await terminal.shows(/node\/worker-1 cordoned/);
  assert.ok(reported().length > before, 'no login while the screen is there');
  assert.match(reported().at(-1) ?? '', /"interactive":false/);
  assert.doesNotMatch(terminal.written().slice(written), /a word of the plugin/);
});
