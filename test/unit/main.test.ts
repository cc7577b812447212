import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { describe, test } from 'node:test';
import { completionScript, SHELLS } from '../../src/commands/completion/scripts.ts';
import { commands } from '../../src/commands/index.ts';
import { main } from '../../src/main.ts';
import { testIo } from './cli/test-io.ts';

async function run(...argv: string[]) {
  const io = testIo();
  const code = await main(argv, io, '');
  return { code, out: io.stdoutText(), err: io.stderrText() };
}

describe('help', () => {
  test('prints every command on a line without arguments, with `help` and with `--help`', async () => {
    const alone = await run();
    assert.equal(alone.code, 0);
    for (const command of Object.keys(commands)) assert.match(alone.out, new RegExp(`^  ${command} +[A-Z]`, 'm'));
    assert.deepEqual(await run('help'), alone);
    assert.deepEqual(await run('--help'), alone);
  });

  test('prints the same for a command with `help` before it', async () => {
    for (const command of Object.keys(commands)) {
      assert.deepEqual(await run('help', command), await run(command, '--help'));
    }
  });
});

const NOT_ASKED = 'note: --dry-run=client does not ask the cluster; --dry-run=server also checks pools and nodes\n';

test('a client dry run of create does not advise what the cluster may already have', async () => {
  const restricted = ['--node-selector', 'a=b', '--label', 'node-restriction.kubernetes.io/x=y'];
  assert.equal((await run('create', 'x', ...restricted, '--dry-run')).err, NOT_ASKED);
  assert.equal((await run('create', 'x', '--dry-run', '-o', 'name')).err, '');
});

test('boolean flags accept true and false, as in kubectl', async () => {
  const create = (...flags: string[]) => run('create', 'x', '--dry-run=client', ...flags);
  const made = { code: 0, out: 'nodepool.nodes.lailin.xyz/x created (dry run)\n', err: NOT_ASKED };
  assert.deepEqual(await create('--reconcile=false', '--yes=true'), made);
  assert.deepEqual(await create('-y=F'), made);
  assert.deepEqual(await create('--reconcile', '--reconcile=false'), made);
});

test('accepts a pool name in the format of -o name', async () => {
  for (const kind of ['nodepool.nodes.lailin.xyz', 'nodepool', 'npool']) {
    const { out } = await run('create', `${kind}/x`, '--dry-run=client');
    assert.equal(out, 'nodepool.nodes.lailin.xyz/x created (dry run)\n');
  }
});

describe('prints a usage error as one line with a hint, exit code 2', () => {
  const cases: [argv: string[], line: string][] = [
    [['versoin'], 'unknown command "versoin"; did you mean "version"?'],
    [['inst'], 'unknown command "inst"; did you mean "install"?'],
    [['zzz'], 'unknown command "zzz"'],
    [['help', 'zzz'], 'unknown command "zzz"'],
    [['zzz', '--help'], 'unknown command "zzz"'],
    [
      ['-o', 'wide', 'get'],
      'unknown flag -o before the command; next: write flags after the command: `kubectl nodepool get -o wide`; `kubectl nodepool options` lists the flags that may come first',
    ],
    [['version', '--clinet'], 'unknown flag --clinet; did you mean --client?'],
    [['version', '--zzzzzz'], 'unknown flag --zzzzzz'],
    [
      ['get', '--password=hunter2', '-phunter2'],
      'unknown flag --password, -p; next: set the user in the kubeconfig, or give --token',
    ],
    [['get', '-all'], 'unknown flag -a; did you mean --all-namespaces?'],
    [['version', 'extra'], 'unexpected argument extra'],
    [['version', '--client=no'], '--client=no: the value must be true or false; next: write --client'],
    [['create', 'pool', 'x'], 'unexpected argument x; leave out "pool": write the pool names right after the command'],
    [['edit', 'node', 'x', '--label', 'a=b'], 'unexpected argument x; for nodes: `kubectl edit node x`'],
    [['get', ''], 'a name cannot be empty; next: check for an unset shell variable'],
    [['version', '--cli'], 'unknown flag --cli; did you mean --client?'],
    [['version', '-o', 'xml'], 'unknown output format "xml"; next: use one of json, yaml'],
    [
      ['top', '-o', 'jsonpath={.x}'],
      'unknown output format "jsonpath"; next: use one of json, yaml, csv; for single fields, pipe -o json to jq',
    ],
    [['events', '-o', 'wide'], 'unknown output format "wide"; next: use one of json, yaml; leave out -o for the table'],
    [
      ['reconcile', '-o', 'name'],
      'unknown output format "name"; next: use one of json, yaml; `kubectl nodepool get -o name` prints the names of pools',
    ],
    [['delete', 'x', '-o', 'json'], 'unknown output format "json"; next: use name'],
    [['version', '--output=y\n'], 'unknown output format "y\\n"; next: use one of json, yaml'],
    [
      ['version', '--color', 'alwyas'],
      '--color: unknown value "alwyas"; did you mean "always"?; next: use one of auto, always, never',
    ],
    [
      ['create', 'x', '--unmanaged=remove'],
      '--unmanaged: unknown value "remove"; did you mean "Remove"?; next: use one of Keep, Remove',
    ],
    [['completion', 'bsh'], 'unknown shell "bsh"; did you mean "bash"?; next: use one of bash, zsh, fish, kubectl'],
    [['version', '-v', 'x'], '--verbosity: expected an integer but received: x'],
    [['version', '-v'], 'flag --verbosity expects a value'],
    [
      ['version', '--request-timeout', 'soon'],
      '--request-timeout: "soon" is not a duration; next: write it like 30s, 1m30s or 2h',
    ],
    [['install', '--dry-run', 'server'], 'unexpected argument server'],
    [['edit'], 'missing argument NAME; next: for example, run `kubectl nodepool edit worker`'],
    [['cordon'], 'no pool is specified; next: name a pool, or use -l SELECTOR or --all'],
    [['delete', '--yes'], 'no pool is specified; next: name a pool, or use -l SELECTOR or --all'],
    [['wait', 'x'], 'missing flag --for; next: for example, run `kubectl nodepool wait worker --for=status=200`'],
    [['move', 'x'], 'missing flag --to; next: for example, run `kubectl nodepool move node-a --to gpu`'],
    [['delete', '-A', 'x'], 'delete has no --all-namespaces: pools are cluster-scoped; next: leave it out'],
    [['drain', 'x', '--ignore-daemonset'], 'unknown flag --ignore-daemonset; did you mean --ignore-daemonsets?'],
  ];
  for (const [argv, line] of cases) {
    test(argv.join(' '), async () => {
      const { code, out, err } = await run(...argv);
      assert.equal(err.split('\n')[0], `error: ${line}`);
      assert.match(err, /^[^\n]+\nSee 'kubectl nodepool( [a-z]+)? --help'\.\n$/);
      assert.equal(out, '');
      assert.equal(code, 2);
    });
  }
});

test('the stack trace of an unknown flag hides its value', async () => {
  const { err } = await run('get', '--password=hunter2', '-v9');
  assert.match(err, /^error: unknown flag --password; .*\n.*\n.*: unknown flag --password\n {4}at /);
  assert.doesNotMatch(err, /hunter2/);
});

describe('input of create', () => {
  test('exits with 2 for an unreadable flag and with 1 for an invalid pool', async () => {
    const parsed = [
      ['create', 'x', '--taint', 'a\nb'],
      ['create', 'x', '--node-selector', 'a in b'],
      ['edit', 'x', '--label', 'a\nb'],
    ];
    for (const argv of parsed) {
      const { code, err } = await run(...argv);
      assert.equal(code, 2, argv.join(' '));
      assert.match(err, /^error: --[^\n]+; next: (?:use|write it like) [^\n]+\nSee [^\n]+\n$/);
    }
    const { code, err } = await run('create', 'x', '--label', 'kubernetes.io/os=linux', '--dry-run');
    assert.equal(code, 1);
    assert.match(err, /^error: [^\n]+; next: [^\n]+\n$/);
  });

  test('--request-timeout also applies to the URL of -f', { timeout: 10_000 }, async t => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise(resolve => server.once('listening', resolve));
    t.after(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/pools.yaml`;
    const { code, err } = await run('create', '-f', url, '--dry-run', '--request-timeout', '200ms');
    assert.equal(code, 1);
    assert.match(
      err,
      /pools\.yaml: no answer within 0\.2 s; next: try again, or wait longer with --request-timeout\n$/,
    );
  });
});

describe('commands that need no cluster', () => {
  test('completion prints the script only', async () => {
    for (const shell of SHELLS) {
      assert.deepEqual(await run('completion', shell), { code: 0, out: completionScript(shell), err: '' });
    }
    assert.equal(
      completionScript('kubectl'),
      `#!/bin/sh
# kubectl's completion runs this for \`kubectl nodepool\`.
exec kubectl-nodepool __complete "$@"
`,
    );
  });

  test('version --client prints each format', async () => {
    assert.match((await run('version', '--client')).out, /^Client Version: \d+\.\d+\.\d+\n$/);
    assert.deepEqual(await run('--version'), await run('version', '--client'));
    assert.match((await run('version', '--client', '-o', 'json')).out, /^\{\n {2}"clientVersion": "\d[^"]+"\n\}\n$/);
    assert.match((await run('version', '--client', '-o', 'yaml')).out, /^clientVersion: \d\S+\n$/);
  });

  test('install --dry-run means --dry-run=client: with -o it prints and does not connect', async () => {
    const { code } = await run('install', '--dry-run', '--kubeconfig', '/nowhere');
    assert.equal(code, 1, 'without it, what is there says what would become of it');
    const short = await run('install', '--dry-run', '-o', 'yaml', '--kubeconfig', '/nowhere');
    assert.equal(short.code, 0);
    const yaml = await run('install', '--dry-run=client', '-o', 'yaml', '--kubeconfig', '/nowhere');
    assert.match(yaml.out, /^kind: CustomResourceDefinition$/m);
    const json = await run('install', '--dry-run=client', '-o', 'json', '--kubeconfig', '/nowhere');
    assert.equal(JSON.parse(json.out).metadata.name, 'nodepools.nodes.lailin.xyz');
  });
});
