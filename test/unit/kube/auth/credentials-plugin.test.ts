import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { base64, client, credentials, ends, folder, plugin } from './credentials-fixture.ts';

describe('an exec plugin', () => {
  const apiVersion = 'client.authentication.k8s.io/v1';
  const exec = (command: string) => ({ exec: { apiVersion, command, interactiveMode: 'Never' } });
  const answer = (status: object) => `echo '${JSON.stringify({ kind: 'ExecCredential', apiVersion, status })}'`;

  test('returns a token', async () => {
    const loaded = await credentials(exec(plugin('token-plugin', answer({ token: 'exec-token' }))));
    assert.deepEqual(loaded.headers, { Authorization: 'Bearer exec-token' });
  });

  /** Counts its runs in a file, and returns a new token each time. */
  function counting(name: string, expires: string) {
    const runs = path.join(folder, `${name}.runs`);
    writeFileSync(runs, '');
    const status = `{"token":"'$(wc -l < '${runs}' | tr -d ' ')'"${expires}}`;
    const command = plugin(
      name,
      `echo run >> '${runs}'; echo '{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":${status}}'`,
    );
    return { command, runs: () => readFileSync(runs, 'utf8').split('\n').length - 1 };
  }

  async function renew(command: string, refused: boolean) {
    const { renewal } = await credentials(exec(command));
    assert.ok(renewal);
    return (await renewal.load({ refused })).headers;
  }

  test('runs again only when its credentials were refused or have expired', async () => {
    const lasting = counting('lasting', '');
    assert.deepEqual(await renew(lasting.command, false), { Authorization: 'Bearer 1' });
    assert.equal(lasting.runs(), 1);
    assert.deepEqual(await renew(lasting.command, true), { Authorization: 'Bearer 3' });
    assert.equal(lasting.runs(), 3);
    const dated = (date: string) => `,"expirationTimestamp":"${date}"`;
    assert.deepEqual(await renew(counting('valid', dated('2999-01-01T00:00:00Z')).command, false), {
      Authorization: 'Bearer 1',
    });
    assert.deepEqual(await renew(counting('expired', dated('2001-01-01T00:00:00Z')).command, false), {
      Authorization: 'Bearer 2',
    });
  });

  test('is not run when the kubeconfig has a token, a user or a certificate, or for plain HTTP', async () => {
    const { command, runs } = counting('unused', '');
    const tokenFile = path.join(folder, 'unused-token');
    writeFileSync(tokenFile, 'in-file');
    await credentials({ ...exec(command), token: 't' });
    await credentials({ ...exec(command), tokenFile });
    await credentials({ ...exec(command), username: 'a' });
    await credentials({ ...exec(command), certData: base64(client.cert), keyData: base64(client.key) });
    const plain = await credentials({ ...exec(command), as: 'x' }, 'http://s');
    assert.deepEqual([plain.headers, plain.renewal], [{ 'Impersonate-User': 'x' }, undefined]);
    assert.equal(runs(), 0);
  });

  test('returns a certificate', async () => {
    writeFileSync(
      path.join(folder, 'answer.json'),
      JSON.stringify({
        kind: 'ExecCredential',
        apiVersion,
        status: { clientCertificateData: client.cert, clientKeyData: client.key },
      }),
    );
    const loaded = await credentials(exec(plugin('cert-plugin', `cat '${path.join(folder, 'answer.json')}'`)));
    assert.deepEqual(loaded.certificateEnds(), ends);
  });

  test('runs again after an invalid certificate, whatever its expiry', async () => {
    const runs = path.join(folder, 'useless.runs');
    const good = path.join(folder, 'useless.good');
    writeFileSync(good, JSON.stringify({ kind: 'ExecCredential', apiVersion, status: { token: 't' } }));
    const old = answer({ token: 'old', expirationTimestamp: '2001-01-01T00:00:00Z' });
    const bad = answer({ clientCertificateData: 'C', clientKeyData: 'K' });
    const command = plugin(
      'useless',
      `echo run >> '${runs}'; case $(wc -l < '${runs}' | tr -d ' ') in 1) ${old};; 2) ${bad};; *) cat '${good}';; esac`,
    );
    const { renewal } = await credentials(exec(command));
    assert.ok(renewal);
    await assert.rejects(renewal.load({ refused: false }), /cannot be used/);
    assert.deepEqual((await renewal.load({ refused: false })).headers, { Authorization: 'Bearer t' });
    await renewal.load({ refused: false });
    assert.equal(readFileSync(runs, 'utf8'), 'run\n'.repeat(3));
  });

  test('is named with its stderr when it fails', async () => {
    const failing = plugin('failing', 'echo "session expired" >&2; exit 1');
    await assert.rejects(credentials(exec(failing)), {
      message: `the plugin ${failing} gave no credentials for user "u": it failed with exit code 1`,
      next: "read the plugin's message above, then log in with that tool",
    });
    await assert.rejects(credentials(exec('/no/such/plugin')), /the plugin \/no\/such\/plugin gave no credentials/);
  });
});
