/**
 * `npm run chaos [-- --minutes M --seed N --nodes N]` runs random commands next to up to three `reconcile --watch`,
 * kills both at random, and changes the same nodes and pools from outside. Fails when a `reconcile` after a round does
 * not reach the desired state. It runs the bundle, whose commands start in a third of the time of the sources.
 */
import { step } from '../test/cluster/progress.ts';
import { chaos } from '../test/fault/chaos.ts';
import { buildPackage } from './build.ts';
import { randomRun } from './random-run.ts';

await step(process.stderr, 'bundling kubectl-nodepool', buildPackage);
process.env.NODEPOOL_TEST_PRODUCT = 'bundle';
await randomRun({ minutes: 5, nodes: 10 }, chaos);
