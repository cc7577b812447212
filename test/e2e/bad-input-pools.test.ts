/** Invalid pools in files and on the command line: one line names the field and the next step, and nothing is written. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { commandsOf, poolYaml } from './commands.ts';
import { useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { refused } = commandsOf(cluster);

const HELP = "\nSee 'kubectl nodepool create --help'.";
const HEAD = 'apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata: {name: gpu}\n';

/** The manifest on stdin, and the error line. */
const FILES: [what: string, text: string, error: string][] = [
  ['malformed YAML', `${HEAD}spec:\n  labels: {a: b}\n tier: x\n`, 'stdin:6:2: not valid YAML: '],
  [
    'a key twice',
    `${HEAD}spec:\n  handler: a\n  handler: b\n`,
    'stdin:6:3: not valid YAML: duplicated mapping key; next: correct the input and run the command again',
  ],
  ['half of a JSON file', '{"apiVersion":', 'stdin:1:15: not valid YAML: '],
  [
    'an unknown field',
    `${HEAD}spec:\n  lables: {a: b}\n`,
    'stdin:5: spec.lables: unknown field; next: use spec.labels, or remove the field',
  ],
  [
    'an unknown field deeper down, in the second document',
    `${poolYaml('fine')}---\n${HEAD}spec:\n  taints:\n  - {key: a, efect: NoSchedule}\n`,
    'stdin:7 has 2 errors:\n  stdin:12: spec.taints[0].effect: missing\n  stdin:12: spec.taints[0].efect: unknown field (use spec.taints[0].effect, or remove the field)\nnext: see the valid values with `kubectl explain npool.spec`',
  ],
  [
    'another kind',
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n',
    'stdin:1: not a NodePool: found apiVersion "v1" and kind "ConfigMap"; next: use kubectl create for objects of other kinds',
  ],
  [
    'another version',
    'apiVersion: nodes.lailin.xyz/v2\nkind: NodePool\nmetadata: {name: x}\n',
    'stdin:1: not a NodePool: found apiVersion "nodes.lailin.xyz/v2" and kind "NodePool"; next: use apiVersion: nodes.lailin.xyz/v1 and kind: NodePool',
  ],
  ['no object', '# nothing\n---\n', 'stdin: contains no object; next: add a pool to the file, or name another file'],
  [
    'a text',
    'hello\n',
    'stdin:1: expected a NodePool, found "hello"; next: start the object with apiVersion, kind, metadata and spec',
  ],
  [
    'a number as a label value',
    `${HEAD}spec:\n  labels: {n: 1}\n`,
    'stdin:5: spec.labels[n]: expected a string, found the number 1; next: quote it: label values are strings',
  ],
  [
    'no name',
    'apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nspec: {}\n',
    'stdin:1: metadata: missing; next: set metadata.name',
  ],
  [
    'the same taint twice',
    `${HEAD}spec:\n  taints:\n  - {key: a, effect: NoSchedule}\n  - {key: a, value: b, effect: NoSchedule}\n`,
    'pool gpu: spec.taints[1]: duplicate taint with key "a" and effect NoSchedule; next: keep one of the two',
  ],
  [
    'an invalid key and a key of the cluster',
    `${HEAD}spec:\n  labels: {"a b": c, kubernetes.io/os: linux}\n`,
    `pool gpu has 2 errors:\n  spec.labels[a b]: the name of key "a b" must consist of letters, digits, '-', '_' and '.', with a letter or digit first and last\n  spec.labels[kubernetes.io/os]: the cluster itself sets this label (remove the label from spec.labels)\nnext: see the valid values with \`kubectl explain npool.spec\``,
  ],
  [
    'the same name twice',
    `${poolYaml('gpu')}---\n${poolYaml('gpu')}`,
    'pool gpu is in the input twice; next: remove one of the two',
  ],
];

for (const [what, text, error] of FILES) {
  test(`create -f: ${what}`, async () => {
    const options = { stdin: text };
    const next = 'next: correct the input and run the command again';
    if (error.endsWith(': '))
      await refused(['create', '-f', '-'], 1, new RegExp(`^error: ${error}.+; ${next}$`), options);
    else await refused(['create', '-f', '-'], 1, `error: ${error}`, options);
  });
}

test('create -f creates no pool when one of several documents is invalid', async () => {
  const file = join(cluster().dir, 'three.yaml');
  await writeFile(file, [poolYaml('a'), poolYaml('b', '{handler: A_b}'), poolYaml('c')].join('---\n'));
  await refused(['create', '-f', file], 1, /^error: pool b: spec\.handler: "A_b" must consist of /);
  await refused(['create', '-f', '/no/such.yaml'], 1, 'error: /no/such.yaml: no such file; next: check the path');
});

test('create and edit refuse invalid flags and names', async () => {
  await testEnv.nodes({ name: 'a' });
  const effects = 'NoSchedule, PreferNoSchedule, NoExecute';
  const cases: [args: string[], code: number, error: string | RegExp][] = [
    [
      ['x', '--label', 'tier'],
      2,
      `error: --label "tier": "=" is missing; next: use key=value; "tier=" sets the empty value${HELP}`,
    ],
    [
      ['x', '--label', 'a b=c'],
      2,
      /^error: --label "a b=c": the name of key "a b" must consist of .*; next: write a key like team or example\.com\/team\n/,
    ],
    [
      ['x', '--label', 'a=b', '--label', 'a=c'],
      2,
      `error: --label "a=c": a is given twice with different values; next: use each key once${HELP}`,
    ],
    [
      ['x', '--taint', 'a:Foo'],
      2,
      `error: --taint "a:Foo": effect "Foo" must be one of ${effects}; next: use key[=value]:Effect with one of the effects ${effects}${HELP}`,
    ],
    [
      ['x', '--taint', 'a:NoExecute', '--taint', 'a=b:NoExecute'],
      2,
      /^error: --taint "a=b:NoExecute": a:NoExecute is given twice/,
    ],
    [
      ['x', '--nodes', 'a,nope'],
      1,
      'error: --nodes: node "nope" not found; next: list the nodes with `kubectl get nodes`',
    ],
    [['x', '--nodes', ''], 2, /^error: --nodes: "" contains an empty name; next: write it like --nodes a,b\n/],
    [
      ['x\nerror: y'],
      1,
      /^error: pool x\\nerror: y: metadata\.name: "x\\nerror: y" must consist of lower case letters[^\n]*$/,
    ],
    [
      ['A_b'],
      1,
      /^error: pool A_b: metadata\.name: "A_b" must consist of lower case letters, .*; next: use another name$/,
    ],
    [
      ['control-plane'],
      1,
      /^error: pool control-plane: metadata\.name: "control-plane" is reserved: .*; next: use another name/,
    ],
    [
      ['x', '--label', 'node-role.kubernetes.io/x=y'],
      1,
      /^error: pool x: spec\.labels\[node-role\.kubernetes\.io\/x\]: this label decides/,
    ],
  ];
  for (const [args, code, error] of cases) await refused(['create', ...args], code, error);
});

test('prints the stack of an error only with -v 9', async () => {
  const args = ['create', 'x', '--label', 'tier'];
  const plain = await cliHere(cluster(), [...args, '-v', '8']);
  assert.doesNotMatch(plain.stderr, /^ {4}at /m);
  const { code, stderr } = await cliHere(cluster(), [...args, '-v', '9']);
  assert.equal(code, 2);
  assert.match(stderr, /^error: --label "tier": .*\nSee .*\nNodepoolError: .*\n {4}at /);
});
