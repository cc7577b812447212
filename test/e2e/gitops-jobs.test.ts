/** The jobs of docs/gitops.md that comment on a pull request: their shell steps, with stand-ins for gh and curl. */
import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { before, test } from 'node:test';
import { load } from 'js-yaml';
import { ensureBinaries } from '../cluster/binaries.ts';
import { pluginFolder } from '../cluster/plugin.ts';
import { run } from '../cluster/run.ts';
import { stateOf } from './commands.ts';
import { readPage } from './page.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;

interface Step {
  name: string;
  run: string;
  env?: Record<string, string>;
}

/** A job: its steps after the installation, and what its CI gives them. */
interface Job {
  steps: Step[];
  env: (kubeconfig: string) => Record<string, string>;
  /** What the stand-in for the comment was called with. */
  called: string;
}

let jobs: Record<'GitHub' | 'GitLab', Job>;

before(async () => {
  const page = await readPage('docs/gitops.md');
  const block = (name: string) => {
    const [, text] = new RegExp(`^\`\`\`yaml\\n# ${RegExp.escape(name)}\\n(.*?)^\`\`\`$`, 'ms').exec(page) ?? [];
    assert.ok(text !== undefined, name);
    return load(text);
  };
  const github = block('.github/workflows/pools.yml') as { jobs: { diff: { steps: (Step | { uses: string })[] } } };
  const gitlab = block('.gitlab-ci.yml') as { pools: { script: string[] } };
  const steps = github.jobs.diff.steps.filter(step => 'run' in step && step.name !== 'Install') as Step[];
  assert.deepEqual(
    steps.map(({ name, env = {} }) => [name, ...Object.keys(env)]),
    [
      ['Diff', 'KUBECONFIG_TEXT'],
      ['Comment', 'GH_TOKEN', 'PULL_REQUEST'],
    ],
  );
  jobs = {
    GitHub: {
      steps,
      env: text => ({ KUBECONFIG_TEXT: text, GH_TOKEN: 'token', PULL_REQUEST: '7' }),
      called: 'gh pr comment 7 --body-file comment.md --edit-last --create-if-none',
    },
    GitLab: {
      // The lines of a script run in one shell that ends at the first error.
      steps: [{ name: 'script', run: gitlab.pools.script.join('\n') }],
      env: () => ({
        KUBECONFIG: cluster().kubeconfig,
        COMMENT_TOKEN: 'token',
        CI_API_V4_URL: 'https://gitlab.example.com/api/v4',
        CI_PROJECT_ID: '3',
        CI_MERGE_REQUEST_IID: '7',
      }),
      called:
        'curl --fail-with-body --silent --show-error --output comment.json --header PRIVATE-TOKEN: token --data-urlencode body@comment.md https://gitlab.example.com/api/v4/projects/3/merge_requests/7/notes',
    },
  };
});

/** Runs the steps of a job on a checkout with this file. */
async function runJob({ steps, env }: Job, pools: string) {
  const folder = await mkdtemp(join(cluster().dir, 'job-'));
  const [bin, repository, temp] = ['bin', 'repository', 'temp'].map(name => join(folder, name));
  assert.ok(bin !== undefined && repository !== undefined && temp !== undefined);
  for (const each of [bin, join(repository, 'pools'), temp]) await mkdir(each, { recursive: true });
  await writeFile(join(repository, 'pools', 'web.yaml'), pools);
  for (const name of ['gh', 'curl']) {
    await writeFile(join(bin, name), `#!/bin/sh\necho ${name} "$@" >> "${folder}/called"\n`);
    await chmod(join(bin, name), 0o755);
  }
  const { kubectl } = await ensureBinaries(['kubectl']);
  const path = [bin, await pluginFolder(cluster()), dirname(kubectl), process.env.PATH].join(delimiter);
  const given = env(await readFile(cluster().kubeconfig, 'utf8'));
  const environment = { PATH: path, HOME: folder, TMPDIR: process.env.TMPDIR, RUNNER_TEMP: temp, ...given };
  let [code, output]: [number | null, string] = [0, ''];
  for (const { run: script } of steps) {
    const result = await run('bash', ['-e', '-o', 'pipefail', '-c', script], { cwd: repository, env: environment });
    [code, output] = [result.code, output + result.stdout + result.stderr];
    if (code !== 0) break;
  }
  const text = (name: string) => readFile(name, 'utf8').catch(() => '');
  return {
    code,
    output,
    called: await text(join(folder, 'called')),
    comment: await text(join(repository, 'comment.md')),
  };
}

const pool = (tier: string) =>
  `apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata:\n  name: web\nspec:\n  labels:\n    tier: ${tier}\n`;

for (const name of ['GitHub', 'GitLab'] as const) {
  test(`${name}: a difference is a comment, an error fails the job, and nothing is written`, async () => {
    await testEnv.nodes({ name: 'a', labels: role('web') }, { name: 'b', labels: role('web') });
    await testEnv.pool('web', { labels: { tier: 'gold' } });
    await testEnv.reconcile();
    const state = await stateOf(cluster());
    const job = jobs[name];

    const changed = await runJob(job, pool('silver'));
    assert.deepEqual([changed.code, changed.called], [0, `${job.called}\n`], changed.output);
    assert.match(
      changed.comment,
      /^### What the pools would change\n```diff\n~ pool web \(pools\/web\.yaml:1\)\n {2}~ spec\.labels\[tier\]: gold -> silver\n\n1 pool would change\n\npool web: 2 nodes \(a, b\)\n {2}~ label tier: gold -> silver {2}\(spec\)\n[\s\S]*\nImpact: [\s\S]*\n```\n$/,
    );

    const same = await runJob(job, pool('gold'));
    assert.deepEqual([same.code, same.called], [0, `${job.called}\n`], same.output);
    assert.equal(same.comment, '### What the pools would change\n```diff\nNo node would change.\n```\n');

    const invalid = await runJob(job, pool('"a b"'));
    assert.deepEqual([invalid.code, invalid.called, invalid.comment], [2, '', ''], invalid.output);
    assert.match(invalid.output, /^error: pools\/web\.yaml:7: spec\.labels\[tier\]: /m);
    assert.deepEqual(await stateOf(cluster()), state);
  });
}
