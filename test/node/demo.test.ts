/** `npm run demo -- --full` with a real node: its controller runs in pods, beside simulated nodes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeObstacle } from '../cluster/node/start.ts';
import { demo } from '../e2e/demo.ts';

const obstacle = await nodeObstacle();

test('the demo installs a controller that gets ready, and leaves nothing behind', {
  skip: obstacle ?? false,
  timeout: 300_000,
}, async t => {
  const { code, stdout, stderr, left } = await demo(t, ['--full']);
  assert.deepEqual([code, left], [0, []], `${stdout.slice(-2000)}\n${stderr.slice(-1000)}`);
  const outputOf = (command: string) => stdout.split(`\n$ kubectl ${command}`)[1]?.split('\n$ ')[0] ?? '';
  const pods = outputOf('-n nodepool-system get pods');
  assert.equal(pods.match(/^nodepool-controller-\S+ +1\/1 +Running .* control-plane-0 /gm)?.length, 2, pods);
  // An address: a kubelet runs it. Pods of simulated nodes have none.
  assert.match(outputOf('get pods -o wide'), /^agent-\S+ +1\/1 +Running .* 10\.88\.0\.\d+ +control-plane-0 /m);
  assert.match(stdout, /"message":"became leader: nodepool-controller-/);
  assert.match(stdout, /^namespace "nodepool-system" deleted$/m);
});
