/**
 * `kubectl nodepool …` at TAB, with the completion scripts of old and new kubectls in their shells: names that a shell
 * would run are in a pool's status and in the kubeconfig, and nothing of them is run or typed on. Zsh and fish are tried
 * where they are installed.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { load as loadYaml } from 'js-yaml';
import { completionScript } from '../../src/cli/completion/scripts.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import { pluginFolder } from '../cluster/plugin.ts';
import { raw } from '../cluster/raw.ts';
import { run } from '../cluster/run.ts';
import { openCommand } from './terminal.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;

const MINORS = ['1.30', '1.33', '1.36'] as const;
/** Where distributions and Homebrew install bash-completion, which kubectl's script for bash needs. */
const BASH_COMPLETION = [
  '/usr/share/bash-completion/bash_completion',
  '/usr/local/share/bash-completion/bash_completion',
  '/opt/homebrew/share/bash-completion/bash_completion',
].find(existsSync);
/** The functions that this script needs of it. */
const STAND_IN = `COMP_WORDBREAKS=$' \\t\\n'
_get_comp_words_by_ref() {
  words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]}
}
__ltrim_colon_completions() { :; }
`;
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
];
/** Key bindings of bash only: menu completion, and inserting all candidates. */
const BASH_KEYS: [keys: string, ran: string][] = [
  ['top --resources exa\u0014', '<top><--resources><example.com/gpu>'],
  ['top --resources evil\u0014', '<top><--resources><evil>'],
  ['top --resources evil\u001b*', '<top><--resources><evil>'],
];

const isThere = (program: string) => spawnSync(program, ['--version']).status === 0;

interface Place {
  folder: string;
  env: Record<string, string>;
}
let place: Promise<Place> | undefined;

/** A folder with the scripts and, in its bin/, kubectl and the plugin; the same for all tests. */
async function prepare(): Promise<Place> {
  const names = MINORS.map(minor => `completion-${minor}` as const);
  const programs = await ensureBinaries(['kubectl', ...names]);
  const folder = join(cluster().dir, 'shells');
  const bin = join(folder, 'bin');
  await mkdir(bin, { recursive: true });
  const program = async (name: string, text: string) => {
    await writeFile(join(bin, name), text);
    await chmod(join(bin, name), 0o755);
  };
  await program('kubectl_complete-nodepool', completionScript('kubectl'));
  // Completes as kubectl does, and prints any other command line.
  await program(
    'kubectl',
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
    }
  }
  const base = BASH_COMPLETION === undefined ? STAND_IN : `source ${BASH_COMPLETION}\n`;
  await writeFile(join(folder, 'base.bash'), `${base}bind '"\\C-t": menu-complete'\n`);
  const config = loadYaml(await readFile(cluster().kubeconfig, 'utf8')) as { contexts: { name: string }[] };
  const [own] = config.contexts;
  config.contexts.push({ ...own, name: 'kind' }, ...EVIL.map(text => ({ ...own, name: `evil${text}` })));
  const kubeconfig = join(folder, 'config');
  await writeFile(kubeconfig, JSON.stringify(config));
  const path = [bin, await pluginFolder(cluster()), process.env.PATH].join(delimiter);
  return { folder, env: { PATH: path, HOME: folder, KUBECONFIG: kubeconfig } };
}

async function seed(): Promise<void> {
  await testEnv.nodes({ name: 'node-a', labels: role('gpu') });
  await testEnv.pool('gpu');
  const names = ['example.com/gpu', ...EVIL.flatMap(text => [`example.com/${text}`, `evil${text}`])];
  const allocatable = Object.fromEntries(names.map(name => [name, '1']));
  // As a user who may write statuses.
  await raw(cluster()).expect('PATCH', '/apis/nodes.lailin.xyz/v1/nodepools/gpu/status', { status: { allocatable } });
}

for (const minor of MINORS) {
  for (const shell of Object.keys(SHELLS) as Shell[]) {
    const options = { skip: !isThere(shell) && `there is no ${shell} here`, timeout: 120_000 };
    test(
      `the script of kubectl ${minor} in ${shell}: what is safe is offered, and nothing is run`,
      options,
      async t => {
        place ??= prepare();
        const { folder, env } = await place;
        await seed();
        await rm(join(folder, 'HIT'), { force: true });
        const { start, load } = SHELLS[shell];
        const command = ['sh', '-c', `cd '${folder}' && exec ${start}`];
        const terminal = openCommand(t, cluster(), command, { columns: 200, env });
        terminal.type(`${load(`${minor}.${shell}`)}; echo REA''DY{enter}`);
        await terminal.shows(/^READY/m);
        for (const [keys, ran] of [...KEYS, ...(shell === 'bash' ? BASH_KEYS : [])]) {
          const from = terminal.written().length;
          const shown = () => /RAN(.*?)END/.exec(terminal.written().slice(from))?.[1];
          terminal.type(`kubectl nodepool ${keys}{enter}`);
          await eventually(`${JSON.stringify(keys)} is run`, () => shown() !== undefined, 20_000).catch(error => {
            throw new Error(`${(error as Error).message}\n${terminal.screen()}`);
          });
          assert.ok(!existsSync(join(folder, 'HIT')), `${JSON.stringify(keys)} ran what was in a name`);
          assert.equal(shown(), ran, JSON.stringify(keys));
        }
      },
    );
  }
}
