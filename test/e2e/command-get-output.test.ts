/** `get -o …` compared with `kubectl get nodepools -o …`, byte for byte; where kubectl fails, ours fails without stdout. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';
import { ensureBinaries } from '../cluster/binaries.ts';
import { cli, cliHere, kubectl } from '../cluster/harness.ts';
import { productCommand, productUnderTest } from '../cluster/product.ts';
import { run } from '../cluster/run.ts';
import { commandsOf } from './commands.ts';
import { COLUMNS, LAST_TEMPLATES, LIST_TEMPLATES, OBJECT_TEMPLATES, SORTS } from './get-templates.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, refused } = commandsOf(cluster);

/** Runs of kubectl at once. */
const AT_ONCE = 4;
/** Templates in one run of kubectl. */
const TOGETHER = 10;

/** Four pools: reconciled with nodes and without, never reconciled, and one with text that is hard to print. */
async function pools(): Promise<void> {
  const device = { cpu: '4', memory: '3064520Ki', pods: '110', 'nvidia.com/gpu': '4', 'example.com/fpga': '1' };
  await testEnv.nodes({ name: 'a', labels: role('gpu'), allocatable: device }, { name: 'b', labels: role('gpu') });
  await testEnv.pool(
    'gpu',
    {
      labels: { tier: 'gold' },
      taints: [
        { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' },
        { key: 'batch', effect: 'NoExecute' },
      ],
      handler: 'gpu',
    },
    { metadata: { labels: { team: 'a', 'example.com/tier': 'gold' }, annotations: { note: 'x < y & "z"' } } },
  );
  await testEnv.pool('idle', { taints: [], nodeSelector: { idle: 'yes' } }, { metadata: { labels: { team: 'b' } } });
  await testEnv.pool('new', {}, { metadata: { labels: { team: 'b', empty: '' } } });
  await testEnv.pool(
    'odd',
    { taints: [{ key: 'a', effect: 'NoSchedule' }], handler: 'runc' },
    {
      metadata: { annotations: { hostile: 'a\x1b[31m\r\n\tb\f', wide: '日本 é 👍', note: '10' } },
    },
  );
  await testEnv.reconcile('gpu', 'idle', 'odd');
}

/**
 * Both, with the same flags: the same bytes and the same exit code. A template or path that is wrong leaves stdout empty;
 * kubectl may have printed a header and some rows of columns before the error.
 */
async function same(lines: string[][]): Promise<void> {
  for (let at = 0; at < lines.length; at += AT_ONCE) {
    await Promise.all(
      lines.slice(at, at + AT_ONCE).map(async args => {
        const [theirs, ours] = await Promise.all([
          kubectl(cluster(), ['get', 'nodepools', ...args]),
          cliHere(cluster(), ['get', ...args]),
        ]);
        const said = `${args.join(' ')}\n${ours.stderr}${theirs.stderr}`;
        const isWrong = /^error: (-o|--sort-by) /.test(ours.stderr);
        const stdout = isWrong ? '' : theirs.stdout;
        assert.deepEqual([ours.code, ours.stdout], [theirs.code, stdout], said);
        if (theirs.code !== 0) assert.match(ours.stderr, /^error: .+/, said);
        if (theirs.code === 0) assert.equal(isWrong, false, said);
      }),
    );
  }
}

test('jsonpath prints the same as kubectl for one pool, several, none and the list', async () => {
  await pools();
  const some = ['{.kind}{"\\n"}{range .items[*]}{.metadata.name}{"\\n"}{end}', '{.items[0].metadata.name}'];
  const parts = LIST_TEMPLATES.flatMap((_, at) =>
    at % TOGETHER === 0 ? [LIST_TEMPLATES.slice(at, at + TOGETHER)] : [],
  );
  await same([
    ...parts.map(part => ['-o', `jsonpath=${part.join('{"\\n"}')}`]),
    ...LAST_TEMPLATES.map(template => ['-o', `jsonpath=${template}`]),
    ...OBJECT_TEMPLATES.map(template => ['gpu', '-o', `jsonpath=${template}`]),
    ...[
      ['gpu', 'new'],
      ['-l', 'team=b'],
      ['-l', 'team=none'],
      ['new', 'missing'],
      ['missing'],
      ['missing', 'nobody'],
    ].flatMap(shape => some.map(template => [...shape, '-o', `jsonpath=${template}`])),
  ]);
});

test('jsonpath-as-json and jsonpath-file print the same as kubectl', async () => {
  await pools();
  const file = join(cluster().dir, 'template');
  await writeFile(file, '{range .items[*]}{.metadata.name}{"\\n"}{end}\nas it stands\n');
  await same([
    ['-o', 'jsonpath-as-json={.items[*].metadata.name}'],
    ['-o', 'jsonpath-as-json={.items[*].spec.taints}{.nothing}{"text"}'],
    ['gpu', '-o', 'jsonpath-as-json={.spec}'],
    ['-o', `jsonpath-file=${file}`],
    ['-o', `jsonpath-file=${file}.missing`],
  ]);
});

test('accepts json, yaml and name in any case', async () => {
  await pools();
  await same([['-o', 'JSON'], ['gpu', '-oYaml'], ['--output=Name'], ['gpu', '--output', 'YAML']]);
});

test('custom-columns and custom-columns-file print the same as kubectl', async () => {
  await pools();
  const file = join(cluster().dir, 'columns');
  await writeFile(file, 'NAME           STATUS\nmetadata.name  {.status.status}\n');
  await writeFile(`${file}.half`, 'NAME\n');
  await same([
    ...COLUMNS.map(columns => ['-o', `custom-columns=${columns}`]),
    ...[['gpu'], ['odd', 'gpu'], ['-l', 'team=none'], ['missing'], ['gpu', 'missing'], ['--no-headers']].map(shape => [
      ...shape,
      '-o',
      'custom-columns=NAME:.metadata.name,NODES:.status.nodeCount',
    ]),
    ['-o', `custom-columns-file=${file}`],
    ['-o', `custom-columns-file=${file}`, '--no-headers'],
    ['-o', `custom-columns-file=${file}.half`],
  ]);
});

test('--sort-by sorts every format as kubectl does', async () => {
  await pools();
  await same(SORTS.map(path => ['--sort-by', path, '-o', 'jsonpath={.items[*].metadata.name}']));
  await same([
    ['--sort-by', '.status.nodeCount', '-o', 'name'],
    ['--sort-by', '.status.nodeCount', '-o', 'custom-columns=NAME:.metadata.name'],
    ['--sort-by', '.metadata.labels.team', '-o', 'json'],
    ['gpu', '--sort-by', '.nothing', '-o', 'name'],
    ['odd', 'gpu', 'new', '--sort-by', '.metadata.name', '-o', 'yaml'],
    ['-l', 'team=none', '--sort-by', '.nothing', '-o', 'name'],
  ]);
  const rows = (await ok(['get', '--sort-by', '.status.nodeCount', '--no-headers'])).trimEnd().split('\n');
  // The table counts the nodes of pools that were never reconciled, too.
  assert.deepEqual(
    rows.map(line => line.split(' ', 1)[0]),
    ['idle', 'new', 'odd', 'gpu'],
  );
});

test('--field-selector accepts what the server accepts for the resource', async () => {
  await pools();
  await same([
    ['--field-selector', 'metadata.name=gpu', '-o', 'json'],
    ['--field-selector', 'metadata.name!=gpu', '-o', 'name'],
    ['--field-selector', 'metadata.name!=gpu', '-l', 'team=b', '-o', 'name'],
    ['--field-selector', 'metadata.name=nobody', '-o', 'yaml'],
  ]);
  const wrong =
    /^error: --field-selector "spec\.handler=gpu": .*field label not supported: spec\.handler.*; next: the server can only filter by metadata\.name/;
  await refused(['get', '--field-selector', 'spec.handler=gpu'], 2, wrong);
  await refused(
    ['get', 'gpu', '--field-selector', 'metadata.name=gpu'],
    2,
    /^error: names and --field-selector cannot be used together/,
  );
});

test('--ignore-not-found ignores missing pools as kubectl does', async () => {
  await pools();
  const formats = ['json', 'name', 'jsonpath={.kind}', 'custom-columns=N:.metadata.name'];
  await same([
    ...[['missing'], ['gpu', 'missing'], ['-l', 'team=none']].flatMap(shape =>
      formats.map(format => [...shape, '--ignore-not-found', '-o', format]),
    ),
    ['missing', 'nobody', '--ignore-not-found', '-o', 'json'],
  ]);
  assert.equal(await ok(['get', 'missing', '--ignore-not-found']), '');
  assert.equal(await ok(['get', '-l', 'team=none', '--ignore-not-found']), '');
  assert.equal(await ok(['get', 'missing', '--ignore-not-found', '-w']), '');
});

test('shows extended resources, chosen resources and labels in tables', async () => {
  await pools();
  const table = async (...args: string[]) =>
    (await ok(['get', ...args]))
      .trimEnd()
      .split('\n')
      .map(line => line.split(/ +/));
  const [header = [], gpu = []] = await table('-o', 'wide');
  assert.deepEqual([header[10], header.at(-1)], ['GPU', 'EXAMPLE.COM/FPGA']);
  assert.deepEqual([gpu[10], gpu.at(-1)], ['4', '1']);
  const [chosen = [], row = []] = await table(
    'gpu',
    '--resources',
    'nvidia.com/gpu,cpu',
    '-L',
    'team,example.com/tier',
    '-L',
    'x',
  );
  assert.equal(
    chosen.join(' '),
    'NAME STATUS NODES READY CORDONED DUE DRIFT NVIDIA.COM/GPU CPU TAINTS AGE TEAM TIER X',
  );
  assert.deepEqual([row[7], row[8], ...row.slice(-3)], ['4', '8', 'a', 'gold', '<none>']);
  const [all = []] = await table('--resources', 'all', '--show-labels');
  assert.equal(
    all.join(' '),
    'NAME STATUS NODES READY CORDONED DUE DRIFT CPU MEMORY PODS STORAGE EXAMPLE.COM/FPGA HUGEPAGES-1GI HUGEPAGES-2MI NVIDIA.COM/GPU TAINTS AGE LABELS',
  );
  await refused(
    ['get', '--resources', 'cpu,'],
    2,
    /^error: --resources: "cpu," has an empty name; next: write it like/,
  );
});

test('refuses flags that cannot be used together and unknown formats', async () => {
  await refused(
    ['nodes', '-o', 'go-template={{.}}'],
    2,
    /^error: unknown output format "go-template"; next: use one of json, .*; jsonpath= takes templates/,
  );
  await refused(
    ['get', '-o', 'xml'],
    2,
    /^error: unknown output format "xml"; next: use one of json, yaml, name, wide, .*, go-template, .*kyaml$/m,
  );
  await refused(['get', '-o', 'jsonpath'], 2, /^error: -o jsonpath needs a template; next: write -o jsonpath=/);
  for (const flags of [['--show-labels'], ['--show-kind'], ['--resources', 'cpu'], ['-L', 'team']]) {
    await refused(['get', '-o', 'json', ...flags], 2, /^error: --[a-z-]+ cannot be combined with -o json/);
  }
  await refused(['get', '--output-watch-events'], 2, /^error: --output-watch-events needs --watch or --watch-only/);
});

test('Go templates and KYAML print the same as kubectl, with the same exit codes', async () => {
  await pools();
  const { kubectl } = await ensureBinaries(['kubectl']);
  const template = join(cluster().dir, 'names.gotemplate');
  await writeFile(template, '{{range .items}}{{.metadata.name}}\n{{end}}');
  const name = '{{.metadata.name}} {{.spec.taints}}';
  const lines: [line: string[], code: number][] = [
    [['-o', 'go-template={{range .items}}{{.metadata.name}} {{end}}', '--sort-by', '.metadata.creationTimestamp'], 0],
    [['-o', `go-template-file=${template}`, '-l', 'team=b', '--no-headers'], 0],
    [['gpu', '-o', 'go-template', '--template', name], 0],
    [['gpu', '--template', name, '--context', 'nodepool-demo', '-v', '0'], 0],
    [['gpu', 'odd', '-o', 'kyaml'], 0],
    [['gpu', 'nope', '--ignore-not-found', '-o', 'kyaml'], 0],
    [['--field-selector', 'metadata.name=gpu', '--request-timeout=1m', '-o', 'kyaml'], 0],
    [['gpu', 'nope', '-o', 'kyaml'], 1],
    [['gpu', '-o', 'go-template={{.a'], 1],
    [['-o', 'kyaml', '--as', 'nobody', '--as-group', 'a,b', '--as-group', 'c'], 1],
  ];
  const env = { PATH: `${dirname(kubectl)}${delimiter}${process.env.PATH}` };
  for (const [line, code] of lines) {
    const ours = await cli(cluster(), ['get', ...line], { env });
    const theirs = await run(kubectl, ['get', 'nodepools.nodes.lailin.xyz', ...line], {
      env: { HOME: cluster().dir, KUBECONFIG: cluster().kubeconfig },
    });
    assert.deepEqual(ours, theirs, line.join(' '));
    assert.equal(ours.code, code, ours.stderr);
  }
  // To kubectl an empty value is none: another cluster might be asked.
  await refused(['get', '-o', 'kyaml', '--context', ''], 1, /^error: --context: "" is not in /, { env });
  await refused(['get', '-o', 'kyaml', '-L', 'a'], 2, /^error: --label-columns cannot be combined with -o kyaml/);
});

test('refuses a kubeconfig that can be read only once when kubectl prints the output', async () => {
  await pools();
  const { kubectl } = await ensureBinaries(['kubectl']);
  const env = { ...process.env, PATH: `${dirname(kubectl)}${delimiter}${process.env.PATH}` };
  const inShell = (script: string) => run('sh', ['-c', script, cluster().kubeconfig, ...productCommand()], { env });
  const refusal = (path: string) =>
    `error: kubectl prints this format and reads the kubeconfig again, but ${path} can be read only once; next: save the kubeconfig to a file and use that file\n`;
  for (const [script, path] of [
    ['cat "$0" | "$@" get -o kyaml --kubeconfig /dev/stdin', '/dev/stdin'],
    ['cat "$0" | KUBECONFIG=/none:/dev/stdin "$@" get -o kyaml', '/dev/stdin'],
    ['"$@" get -o kyaml --kubeconfig /dev/fd/3 3<"$0"', '/dev/fd/3'],
  ] as const) {
    assert.deepEqual(await inShell(script), { code: 1, stdout: '', stderr: refusal(path) }, script);
  }
  const { code, stderr } = await inShell('"$@" get -o kyaml --kubeconfig /dev/stdin <"$0"');
  assert.equal(code, 0, stderr);
});

test('without kubectl in the PATH, prints the command to run, without the token', async () => {
  const line = ['get', 'gpu', "-ogo-template={{printf '%s' .}}", '--token', 'secret', '--cached', '--watch'];
  await refused(
    line,
    1,
    /^error: kubectl prints this format, but is not in the PATH; next: on a machine with kubectl, run `kubectl get nodepools\.nodes\.lailin\.xyz --token=TOKEN '--output=go-template=\{\{printf '\\''%s'\\'' \.\}\}' --watch -- gpu`$/,
    { env: { PATH: cluster().dir } },
  );
});

test('does not run a kubectl that is no program or is in the current folder', async () => {
  const folder = join(cluster().dir, 'no-program');
  await mkdir(folder);
  await writeFile(join(folder, 'kubectl'), 'echo run by a shell\n', { mode: 0o755 });
  const line = ['get', '-o', 'kyaml'];
  const next = '; next: on a machine with kubectl, run `kubectl get nodepools.nodes.lailin.xyz --output=kyaml`\n';
  for (const [PATH, reason] of [
    [folder, `${join(folder, 'kubectl')} is not a program but a text without #!`],
    ['', 'is not in the PATH'],
    [`:${delimiter}.`, 'is not in the PATH'],
  ] as const) {
    const stderr = `error: kubectl prints this format, but ${reason}${next}`;
    assert.deepEqual(await cli(cluster(), line, { env: { PATH }, cwd: folder }), { code: 1, stdout: '', stderr });
  }
  await writeFile(join(folder, 'kubectl'), Buffer.from('\x7fELF\0'), { mode: 0o755 });
  const { stdout, stderr } = await cli(cluster(), line, { env: { PATH: folder } });
  assert.equal(stdout, '');
  if (productUnderTest() === 'executable') assert.match(stderr, /^error: .*, but cannot be started: not a program of/);
});
