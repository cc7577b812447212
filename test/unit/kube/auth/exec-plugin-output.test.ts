import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { answer, failure, open, script, TOKEN, V1, V1BETA1 } from './plugin-scripts.ts';

describe('output of a plugin', () => {
  const starts = (command: string) => `the plugin ${command} gave no credentials for user "u": `;
  const certificate = { clientCertificateData: 'C', clientKeyData: 'K' };

  test('returns a token, a certificate, both, and YAML', async () => {
    assert.deepEqual(await open({ command: script(TOKEN) }).authInfo(), {
      cert: undefined,
      key: undefined,
      authorization: 'Bearer t',
    });
    assert.deepEqual(await open({ command: script(answer({ token: 't', ...certificate })) }).authInfo(), {
      cert: 'C',
      key: 'K',
      authorization: 'Bearer t',
    });
    const yaml = script(
      `printf 'apiVersion: ${V1}\\nkind: ExecCredential\\nstatus:\\n  token: y\\n  expirationTimestamp: 2030-01-01T00:00:00Z\\n'`,
    );
    assert.equal((await open({ command: yaml }).authInfo()).authorization, 'Bearer y');
    const json = script(
      `printf '{\\n\\t"kind": "ExecCredential", "apiVersion": "x",\\n\\t"apiVersion": "${V1}", "status": {"token": "t\\\\/j"}\\n}'`,
    );
    assert.equal((await open({ command: json }).authInfo()).authorization, 'Bearer t/j');
  });

  const wrong: [name: string, text: string, problem: string][] = [
    ['no JSON', 'echo hello', 'its output is not an ExecCredential'],
    ['nothing', 'true', 'its output is not an ExecCredential'],
    ['another kind', answer({ token: 't' }, { apiVersion: V1 }), 'its output is not an ExecCredential'],
    [
      'another version',
      answer({ token: 't' }, { apiVersion: V1BETA1, kind: 'ExecCredential' }),
      `it answered with ${V1BETA1} instead of ${V1}`,
    ],
    ['no status', `echo '{"apiVersion":"${V1}","kind":"ExecCredential"}'`, 'its ExecCredential has no status'],
    ['an empty status', answer({ token: '' }), 'its status has neither a token nor a certificate'],
    [
      'half a certificate',
      answer({ token: 't', clientKeyData: 'K' }),
      'its status has only one of clientCertificateData and clientKeyData',
    ],
    ['a number', answer({ token: 7 }), 'its status.token is not a string'],
    [
      'no time',
      answer({ token: 't', expirationTimestamp: 'soon' }),
      'its status.expirationTimestamp is not a time like 2030-01-31T12:00:00Z',
    ],
    [
      'a time without a zone',
      answer({ token: 't', expirationTimestamp: '2030-01-31T12:00:00' }),
      'its status.expirationTimestamp is not a time like 2030-01-31T12:00:00Z',
    ],
  ];
  for (const [name, text, problem] of wrong) {
    test(name, async () => {
      const command = script(text);
      assert.equal(await failure({ command }), `${starts(command)}${problem}; next: correct or update the plugin`);
    });
  }

  test('reports an exit code, a signal and a file that is not executable', async () => {
    const next = "next: read the plugin's message above, then log in with that tool";
    const failing = script(`${TOKEN}; exit 3`);
    assert.equal(await failure({ command: failing }), `${starts(failing)}it failed with exit code 3; ${next}`);
    const killed = script('kill -9 $$');
    assert.equal(await failure({ command: killed }), `${starts(killed)}it was killed by SIGKILL; ${next}`);
    const noProgram = script('', 'no-program');
    writeFileSync(noProgram, '#!/no/such/shell\n');
    assert.match(await failure({ command: noProgram }), /it cannot be started: .*ENOENT/);
  });

  test('is cached until its expirationTimestamp, and while the server accepts it', async () => {
    const command = script(
      `echo run >> "$0.seen"; echo '{"apiVersion":"${V1}","kind":"ExecCredential","status":{"token":"'$(grep -c run "$0.seen")'","expirationTimestamp":"2030-01-01T00:00:00+01:00"}}'`,
    );
    let now = Date.parse('2029-12-31T22:59:59Z');
    const { authInfo } = open({ command }, { now: () => now });
    const token = async (refused = false) => (await authInfo(refused)).authorization;
    assert.deepEqual([await token(), await token()], ['Bearer 1', 'Bearer 1']);
    assert.deepEqual([await token(true), await token()], ['Bearer 2', 'Bearer 2']);
    now += 1_001;
    assert.equal(await token(), 'Bearer 3');
  });
});
