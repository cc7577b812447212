/**
 * `kubectl nodepool …` at TAB, with the completion scripts of old and new kubectls in their shells, with ours, and with
 * both: names that a shell would run are in a pool's status and in the kubeconfig, and nothing of them is run or typed on.
 * Zsh and fish are tried where they are installed, and kubectl's script for bash where bash-completion is, or is to be had.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { load as loadYaml } from 'js-yaml';
import { type DebianPackage, PackageUnavailable, unpackDebian } from '../../scripts/package/debian.ts';
import { completionScript } from '../../src/commands/completion/scripts.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import { pluginFolder } from '../cluster/plugin.ts';
import { raw } from '../cluster/raw.ts';
import { run } from '../cluster/run.ts';
import { temporaryFolder } from '../package/copy.ts';
import { openCommand } from './terminal.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;

const MINORS = ['1.30', '1.36'] as const;
/** Where distributions and Homebrew install bash-completion, which kubectl's script for bash needs. */
const INSTALLED = [
  '/usr/share/bash-completion/bash_completion',
  '/usr/local/share/bash-completion/bash_completion',
  '/opt/homebrew/share/bash-completion/bash_completion',
].find(existsSync);
const NO_BASH_COMPLETION = 'there is no bash-completion here';
const PACKAGE: DebianPackage = {
  name: 'bash-completion',
  version: '1:2.11-6',
  arch: 'all',
  sha256: '8f79fbfae64b85ea54f63c6db688f2cd8cb079f40b6164f8b1f9451e37790549',
};
/** Starts each shell without personal settings, and loads a script there. */
const SHELLS = {
  bash: { start: 'bash --norc --noprofile -i', load: (file: string) => `source base.bash; source ${file}` },
  zsh: { start: 'zsh -f -i', load: (file: string) => `autoload -U compinit; compinit -u -D; source ${file}` },
  fish: { start: 'fish --no-config -i', load: (file: string) => `source ${file}` },
};
type Shell = keyof typeof SHELLS;

/** When a shell runs one of them, it creates the file HIT in the current folder. */
const EVIL = [
  '$(touch HIT)',
  '`touch HIT`',
  ';touch HIT;',
  "';touch HIT;'",
  '"$(touch HIT)"',
  '\n touch HIT\n',
  '&touch HIT&',
];
const KEYS: [keys: string, ran: string][] = [
  // Beside hostile names there is one good name, to which TAB completes.
  ['top --resources exa\t', '<top><--resources><example.com/gpu>'],
  ['top --resources evil\t', '<top><--resources><evil>'],
  ['top --resources evil\t\t', '<top><--resources><evil>'],
  ['get --context ev\t\t', '<get><--context><ev>'],
  ['get --context ki\t', '<get><--context><kind>'],
  ['get --context=ki\t', '<get><--context=kind>'],
  ['wait gpu --for=de\t', '<wait><gpu><--for=delete>'],
  // Not a wrong word, which cobra's scripts for zsh and fish would make of an answer.
  ['create x --taint=my-key=b:NoE\t ', '<create><x><--taint=my-key=b:NoE>'],
];
/** What our scripts complete, in whichever order they and kubectl's are loaded. */
const OWN_KEYS: [keys: string, ran: string][] = [
  ['kubectl nodepool get g\t', '<get><gpu>'],
  ['kubectl nodepool --context kind uninst\t', '<--context><kind><uninstall>'],
  ['kubectl nodepool wait gpu --for=stat\t', '<wait><gpu><--for=status=200>'],
  ['kubectl nodepool create x --taint=my-key=b:NoE\t', '<create><x><--taint=my-key=b:NoExecute>'],
  ["kubectl nodepool create 'an other' -f fi\t", '<create><an other><-f><file-one.yaml>'],
  ['kubectl nodepool get nothing\t', '<get><nothing>'],
  ['k nodepool get --context=ki\t', '<get><--context=kind>'],
];
/** Commands of kubectl itself. */
const OTHERS_KEYS: [keys: string, ran: string][] = [
  ['kubectl version --cli\t', '<--client>'],
  ['k version --cli\t', '<--client>'],
];
const ORDERS = {
  alone: ['own'],
  "after kubectl's": ['1.36', 'own'],
  "before kubectl's": ['own', '1.36', 'own', '1.36'],
};
/** Key bindings of bash only: menu completion, and inserting all candidates. */
const BASH_KEYS: [keys: string, ran: string][] = [
  ['top --resources exa\u0014', '<top><--resources><example.com/gpu>'],
  ['top --resources evil\u0014', '<top><--resources><evil>'],
  ['top --resources evil\u001b*', '<top><--resources><evil>'],
];

/** In the folder where bash-completion looks for scripts that it loads at the first TAB. */
const LAZY = '.local/share/bash-completion/completions';

const isThere = (program: string) => spawnSync(program, ['--version']).status === 0;

const ALIAS = {
  bash: 'alias k=kubectl; complete -o default -F __start_kubectl k',
  zsh: 'alias k=kubectl',
  fish: 'alias k=kubectl',
};

const bashCompletion = await findBashCompletion();

interface Place {
  folder: string;
  env: Record<string, string>;
}

/** A folder with the scripts and, in its bin/, kubectl and the plugin; the same for all tests. */
async function prepare(): Promise<Place> {
  const names = MINORS.map(minor => `completion-${minor}` as const);
  const programs = await ensureBinaries(['kubectl', ...names]);
  const folder = join(cluster().dir, 'shells');
  const program = async (name: string, text: string) => {
    await mkdir(join(folder, name, '..'), { recursive: true });
    await writeFile(join(folder, name), text);
    await chmod(join(folder, name), 0o755);
  };
  await program('asked/kubectl_complete-nodepool', completionScript('kubectl'));
  // Completes as kubectl does, and prints any other command line.
  await program(
    'bin/kubectl',
    `#!/bin/sh
if [ "$1" = __complete ]; then exec '${programs.kubectl}' "$@"; fi
shift
printf 'RAN'; printf '<%s>' "$@"; printf 'END\\n'
`,
  );
  for (const [at, minor] of MINORS.entries()) {
    for (const shell of Object.keys(SHELLS)) {
      const { stdout } = await run(programs[names[at] ?? 'completion-1.36'], [shell]);
      await writeFile(join(folder, `${minor}.${shell}`), stdout);
      await writeFile(join(folder, `own.${shell}`), completionScript(shell as Shell));
    }
  }
  await program(join(LAZY, 'kubectl'), 'source 1.36.bash\n');
  await writeFile(join(folder, 'file-one.yaml'), '');
  const base = bashCompletion === undefined ? '' : `source ${bashCompletion}\n`;
  await writeFile(join(folder, 'base.bash'), `${base}bind '"\\C-t": menu-complete'\n`);
  const config = loadYaml(await readFile(cluster().kubeconfig, 'utf8')) as { contexts: { name: string }[] };
  const [own] = config.contexts;
  config.contexts.push({ ...own, name: 'kind' }, ...EVIL.map(text => ({ ...own, name: `evil${text}` })));
  const kubeconfig = join(folder, 'config');
  await writeFile(kubeconfig, JSON.stringify(config));
  const path = [join(folder, 'bin'), await pluginFolder(cluster()), process.env.PATH].join(delimiter);
  return { folder, env: { PATH: path, HOME: folder, KUBECONFIG: kubeconfig } };
}

/** The path of the installed one, or of Debian's. */
async function findBashCompletion(): Promise<string | undefined> {
  if (INSTALLED !== undefined) return INSTALLED;
  const folder = await temporaryFolder({ after });
  try {
    await unpackDebian(PACKAGE, folder);
    return join(folder, 'usr/share/bash-completion/bash_completion');
  } catch (error) {
    if (error instanceof PackageUnavailable) return undefined;
    throw error;
  }
}

let prepared: Promise<Place> | undefined;
function place(): Promise<Place> {
  prepared ??= prepare();
  return prepared;
}

async function seed(): Promise<void> {
  await testEnv.nodes({ name: 'node-a', labels: role('gpu') });
  await testEnv.pool('gpu');
  const names = ['example.com/gpu', ...EVIL.flatMap(text => [`example.com/${text}`, `evil${text}`])];
  const allocatable = Object.fromEntries(names.map(name => [name, '1']));
  // As a user who may write statuses.
  await raw(cluster()).expect('PATCH', '/apis/nodes.lailin.xyz/v1/nodepools/gpu/status', { status: { allocatable } });
}

/** Types the keys into a shell that has loaded the scripts, and compares the commands that run. */
async function press(
  t: TestContext,
  shell: Shell,
  { load, env: more, keys }: { load: string[]; env?: Record<string, string>; keys: [keys: string, ran: string][] },
): Promise<void> {
  const { folder, env } = await place();
  const { start, load: loaded } = SHELLS[shell];
  const terminal = openCommand(t, cluster(), ['sh', '-c', `cd '${folder}' && exec ${start}`], {
    columns: 200,
    env: { ...env, ...more },
  });
  terminal.type(`${[...load.map(name => loaded(`${name}.${shell}`)), ALIAS[shell]].join('; ')}; echo REA''DY{enter}`);
  await terminal.shows(/^READY/m);
  for (const [typed, ran] of keys) {
    const from = terminal.written().length;
    const shown = () => /RAN(.*?)END/.exec(terminal.written().slice(from))?.[1];
    terminal.type(`${typed}{enter}`);
    await eventually(`${JSON.stringify(typed)} is run`, () => shown() !== undefined, 20_000).catch(error => {
      throw new Error(`${(error as Error).message}\n${terminal.screen()}`);
    });
    assert.ok(!existsSync(join(folder, 'HIT')), `${JSON.stringify(typed)} ran what was in a name`);
    assert.equal(shown(), ran, JSON.stringify(typed));
  }
}

for (const shell of Object.keys(SHELLS) as Shell[]) {
  const options = { skip: !isThere(shell) && `there is no ${shell} here`, timeout: 120_000 };
  const without = shell === 'bash' && bashCompletion === undefined && NO_BASH_COMPLETION;
  for (const minor of MINORS) {
    const name = `the script of kubectl ${minor} in ${shell} offers what is safe, and runs nothing`;
    test(name, { ...options, skip: options.skip || without }, async t => {
      const { folder, env } = await place();
      await seed();
      await rm(join(folder, 'HIT'), { force: true });
      const keys = [...KEYS, ...(shell === 'bash' ? BASH_KEYS : [])].map(([typed, ran]): [string, string] => [
        `kubectl nodepool ${typed}`,
        ran,
      ]);
      const path = [join(folder, 'asked'), env.PATH].join(delimiter);
      await press(t, shell, { load: [minor], env: { PATH: path }, keys });
    });
  }
  for (const [order, load] of Object.entries(ORDERS)) {
    const skip = options.skip || (load.length > 1 && without);
    test(`our script in ${shell}, ${order}, completes only the plugin`, { ...options, skip }, async t => {
      await seed();
      await press(t, shell, { load, keys: [...OWN_KEYS, ...(load.length > 1 ? OTHERS_KEYS : [])] });
    });
  }
}

test('our script lets bash-completion load the kubectl script at the first TAB', {
  skip: bashCompletion === undefined && NO_BASH_COMPLETION,
  timeout: 120_000,
}, async t => {
  await seed();
  const { folder } = await place();
  const env = { BASH_COMPLETION_USER_DIR: join(folder, LAZY, '..') };
  await press(t, 'bash', { load: ['own'], env, keys: [...OTHERS_KEYS, ...OWN_KEYS] });
});
