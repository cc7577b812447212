/**
 * `npm run soak [-- --minutes M --seed N --nodes N]` makes random faults and changes while two `reconcile --watch
 * --leader-elect` run behind the fault proxy. Fails when the cluster does not reach the desired state, or when memory
 * grew.
 */
import { soak } from '../test/fault/soak.ts';
import { randomRun } from './random-run.ts';

await randomRun({ minutes: 15, nodes: 200 }, soak);
