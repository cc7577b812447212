/** The input of exec plugins, whether they may prompt, and where they are found: with shell scripts as plugins. */
import assert from 'node:assert/strict';
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import type { Terminal } from '../../../../src/kube/auth/auth-info.ts';
import { answer, failure, folder, open, script, seen, TOKEN, V1, V1BETA1 } from './plugin-scripts.ts';

describe('input of a plugin', () => {
  const reported = script(`echo "$KUBERNETES_EXEC_INFO" > "$0.seen"; ${TOKEN}`);
  const toldBeta = script(
    `echo "$KUBERNETES_EXEC_INFO" > "$0.seen"; ${answer({ token: 't' }, { apiVersion: V1BETA1, kind: 'ExecCredential' })}`,
  );

  test('passes the API version and interactive: false', async () => {
    await open({ command: reported }).authInfo();
    assert.deepEqual(JSON.parse(seen(reported)), {
      kind: 'ExecCredential',
      apiVersion: V1,
      spec: { interactive: false },
    });
    await open({ command: toldBeta, apiVersion: V1BETA1, interactiveMode: undefined }).authInfo();
    assert.equal(JSON.parse(seen(toldBeta)).apiVersion, V1BETA1);
  });

  test('gets the cluster with provideClusterInfo', async () => {
    await open({ command: reported, provideClusterInfo: true }).authInfo();
    assert.deepEqual(JSON.parse(seen(reported)).spec.cluster, { server: 'https://s:6443', config: null });
    const cluster = {
      tlsServerName: 'n',
      skipTlsVerify: true,
      proxyUrl: 'http://p',
      disableCompression: true as const,
      execExtension: { audience: 'x', n: [1] },
    };
    await open({ command: reported, provideClusterInfo: true }, { cluster, ca: 'CA' }).authInfo();
    assert.deepEqual(JSON.parse(seen(reported)).spec.cluster, {
      server: 'https://s:6443',
      'tls-server-name': 'n',
      'insecure-skip-tls-verify': true,
      'certificate-authority-data': Buffer.from('CA').toString('base64'),
      'proxy-url': 'http://p',
      'disable-compression': true,
      config: { audience: 'x', n: [1] },
    });
  });

  test('gets its arguments, and its environment on top of the process environment', async () => {
    const command = script(`echo "$# $1|$2|$A|$B|$OURS" > "$0.seen"; ${TOKEN}`);
    const env = [{ name: 'A', value: '1' }, { name: 'B' }, { name: 'A', value: 'a b' }];
    await open({ command, args: ['x y', '$Z'], env }, { env: { OURS: 'ours', A: '0' } }).authInfo();
    assert.equal(seen(command), '2 x y|$Z|a b||ours');
  });
});

test('is ended when its output does not end', { timeout: 20_000 }, async () => {
  const message = await failure({ command: script('exec yes') });
  assert.match(message, /gave no credentials for user "u": it printed more than 1048576 bytes; next: /);
});

describe('whether it may prompt', () => {
  const asks = script(`cat > "$0.seen"; echo "$KUBERNETES_EXEC_INFO" >> "$0.seen"; ${TOKEN}`);
  const input = path.join(folder, 'input');
  writeFileSync(input, 'typed\n');
  const terminal = (facts: Partial<Terminal>) => ({ terminal: { stdin: openSync(input, 'r'), ...facts } });
  const table: [mode: string, facts: Partial<Terminal>, interactive: boolean][] = [
    ['Never', { stdinIsTTY: true }, false],
    ['IfAvailable', { stdinIsTTY: true }, true],
    ['IfAvailable', { stdinIsTTY: false }, false],
    ['IfAvailable', { stdinIsTTY: true, stdinIsSpent: () => true }, false],
    ['Always', { stdinIsTTY: true }, true],
  ];
  for (const [interactiveMode, facts, interactive] of table) {
    test(`${interactiveMode} ${JSON.stringify({ ...facts, spent: facts.stdinIsSpent?.() })}`, async () => {
      await open({ command: asks, interactiveMode }, terminal(facts)).authInfo();
      assert.equal(seen(asks).startsWith('typed'), interactive);
      assert.match(seen(asks), new RegExp(`"interactive":${interactive}`));
    });
  }

  test('interactiveMode Always fails without a terminal', async () => {
    const exec = { command: asks, interactiveMode: 'Always' };
    const next = 'next: log in with that tool first, or run the command in a terminal';
    const start = `the plugin ${asks} gave no credentials for user "u": it needs to prompt, but`;
    assert.equal(await failure(exec), `${start} stdin is not a terminal; ${next}`);
    assert.equal(
      await failure(exec, { terminal: { stdinIsTTY: true, stdinIsSpent: () => true } }),
      `${start} -f - already uses stdin; ${next}`,
    );
  });

  test('shares stderr of the terminal while it runs', async () => {
    const said = path.join(folder, 'stderr');
    const uses: string[] = [];
    const command = script(`echo "open https://login" >&2; while [ ! -e "$0.go" ]; do sleep 0.02; done; ${TOKEN}`);
    const stderr = openSync(said, 'w');
    const authInfo = open({ command }, { terminal: { stderr, onUse: used => uses.push(String(used)) } }).authInfo();
    while (readFileSync(said, 'utf8') === '') await new Promise(resolve => setTimeout(resolve, 5));
    assert.deepEqual(uses, ['true']);
    writeFileSync(`${command}.go`, '');
    await authInfo;
    assert.equal(readFileSync(said, 'utf8'), 'open https://login\n');
    assert.deepEqual(uses, ['true', 'false']);
  });
});

describe('where the plugin is found', () => {
  const bin = path.join(folder, 'bin');
  script(TOKEN, path.join('bin', 'login'));
  mkdirSync(path.join(folder, 'dirs', 'login'), { recursive: true });

  test('searches the PATH of the process, and skips folders and plain files', async () => {
    writeFileSync(path.join(folder, 'unready'), '');
    const env = { PATH: [path.join(folder, 'dirs'), folder, bin].join(':') };
    assert.equal((await open({ command: 'login' }, { env }).authInfo()).authorization, 'Bearer t');
    assert.match(await failure({ command: 'unready' }, { env }), /it is not in PATH/);
    const own = [{ name: 'PATH', value: bin }];
    assert.match(await failure({ command: 'login', env: own }, { env: { PATH: '/nowhere' } }), /it is not in PATH/);
  });

  test('prints the installHint when it is missing', async () => {
    const start = 'the plugin no-such gave no credentials for user "u": it is not in PATH; next:';
    assert.equal(
      await failure({ command: 'no-such' }),
      `${start} install the plugin, or correct its command in the kubeconfig`,
    );
    assert.equal(await failure({ command: 'no-such', installHint: 'brew\n  install x\n' }), `${start} brew install x`);
    assert.match(await failure({ command: '/no/such' }), /: no such program; next:/);
  });

  test('is not run from the current directory, which others may write', async () => {
    const relative = path.relative(process.cwd(), bin);
    assert.match(
      await failure({ command: 'login' }, { env: { PATH: `${relative}:${bin}` } }),
      /: PATH finds it through a relative directory \(.*bin\/login\); next: to use it, write its full path in the kubeconfig/,
    );
  });
});

describe('refuses an invalid exec section', () => {
  const table: [name: string, exec: object, message: RegExp][] = [
    ['no command', {}, /users\["u"\]\.user\.exec\.command is missing/],
    ['no version', { command: 'x', apiVersion: undefined }, /exec\.apiVersion is missing/],
    [
      'v1alpha1',
      { command: 'x', apiVersion: 'client.authentication.k8s.io/v1alpha1' },
      /the plugin x of user "u" uses the unknown apiVersion "client.authentication.k8s.io\/v1alpha1"/,
    ],
    [
      'v1 without interactiveMode',
      { command: 'x', interactiveMode: undefined },
      /interactiveMode is missing; it is one of Never, /,
    ],
    ['an unknown interactiveMode', { command: 'x', interactiveMode: 'Maybe' }, /interactiveMode "Maybe" is not known/],
    ['a number as argument', { command: 'x', args: [1] }, /exec\.args is not a list of strings/],
    ['a variable without a name', { command: 'x', env: [{ value: '1' }] }, /exec\.env\[0\]\.name is missing/],
  ];
  for (const [name, exec, message] of table) {
    test(name, async () => assert.match(await failure(exec), message));
  }
});

test('a hanging plugin whose child keeps stdout open ends at once with this process', async () => {
  const stop = new AbortController();
  const command = script('echo $$ > "$0.seen.tmp"; mv "$0.seen.tmp" "$0.seen"; sleep 60');
  const pipes = () => process.getActiveResourcesInfo().filter(name => name === 'PipeWrap').length;
  const pipesBefore = pipes();
  const asking = failure({ command }, { signal: stop.signal });
  for (;;) {
    try {
      seen(command);
      break;
    } catch {
      await new Promise(resolve => setTimeout(resolve, 5));
    }
  }
  const begin = performance.now();
  stop.abort();
  assert.match(await asking, /: it was stopped; next:/);
  assert.ok(performance.now() - begin < 20_000);
  const pid = Number(seen(command));
  const ends = performance.now() + 30_000;
  while (pipes() > pipesBefore) {
    assert.ok(performance.now() < ends, 'its stdout keeps us from ending');
    await new Promise(resolve => setTimeout(resolve, 5));
  }
  while (isAlive(pid)) {
    assert.ok(performance.now() < ends, 'the plugin lives on');
    await new Promise(resolve => setTimeout(resolve, 5));
  }
  assert.match(await failure({ command }, { signal: stop.signal }), /: it was not started/);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
