/** `npm run demo -- --full` with a real node: its controller runs in pods, and what it says of the chart can be done. */
import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../scripts/root.ts';
import { nodeObstacle } from '../cluster/node/start.ts';
import { run } from '../cluster/run.ts';
import { startDemo } from '../e2e/demo.ts';
import { temporaryFolder } from '../package/copy.ts';
import { promtool } from '../package/promtool.ts';

const obstacle = await nodeObstacle();

test('the demo installs a controller, keeps the real node for the chart, and cleans up', {
  skip: obstacle ?? false,
  timeout: 400_000,
}, async t => {
  const demo = await startDemo(t, ['--full', '--keep'], '--web.listen-address=');
  const [story = '', kept = ''] = demo.shown().split('\n# The cluster stays up until Ctrl-C');
  const outputOf = (command: string) => story.split(`\n$ kubectl ${command}`)[1]?.split('\n$ ')[0] ?? '';
  const pods = outputOf('-n nodepool-system get pods');
  assert.equal(pods.match(/^nodepool-controller-\S+ +1\/1 +Running .* control-plane-0 /gm)?.length, 2, pods);
  // An address: a kubelet runs it. Pods of simulated nodes have none.
  assert.match(outputOf('get pods -o wide'), /^agent-\S+ +1\/1 +Running .* 10\.88\.0\.\d+ +control-plane-0 /m);
  assert.match(story, /"message":"became leader: nodepool-controller-/);
  assert.match(story, /^namespace "nodepool-system" deleted$/m);

  // What the text says, but for a Prometheus, which does not end.
  const [, config = ''] = /^prometheus --config\.file=(\S+) /m.exec(kept) ?? [];
  const commands = `#${kept.replace(/^prometheus .*$/m, '')}\ncat ${dirname(config)}/pods.yaml`;
  const env = { PATH: process.env.PATH, HOME: await temporaryFolder(t) };
  const { code, stdout, stderr } = await run('sh', ['-ec', commands], { cwd: ROOT, env, timeoutMs: 120_000 });
  assert.equal(code, 0, `${commands}\n${stdout}\n${stderr}`);
  assert.match(stdout, /^STATUS: deployed$/m);
  assert.equal(stdout.match(/^nodepool_build_info\{version=/gm)?.length, 2, stdout);
  assert.match(stdout, /^- targets:\n( {2}- 10\.88\.0\.\d+:8080\n){2}$/m);
  await promtool(['check', 'config', config]);
  const { code: ended, left } = await demo.interrupt();
  assert.deepEqual([ended, left], [0, []], demo.shown().slice(-1000));
});
