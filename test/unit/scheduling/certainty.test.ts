/** Pods of random sizes on small clusters: what is certain holds however the others are placed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Competitors } from '../../../src/scheduling/certainty.ts';
import { Judge } from '../../../src/scheduling/judge.ts';
import type { RawPodSpec } from '../../../src/scheduling/pod/raw-pod.ts';
import type { Pod } from '../../../src/scheduling/types.ts';
import { Dice } from '../../e2e/dice.ts';
import { asks, pod, site, snapshot } from './fixtures.ts';

const CLUSTERS = 1_500;

/** Whether some way to place some of the others leaves no node for the pod. */
function canBeBlocked(
  one: Pod,
  others: readonly Pod[],
  names: readonly string[],
  where: ReturnType<typeof snapshot>,
): boolean {
  const fits = (each: Pod, name: string) => new Judge(each, where).firstWhyNot(name).length === 0;
  if (!names.some(name => fits(one, name))) return true;
  const [next, ...rest] = others;
  if (next === undefined) return false;
  for (const name of names) {
    if (!fits(next, name)) continue;
    where.add(next, name);
    const isBlocked = canBeBlocked(one, rest, names, where);
    where.remove(next, name);
    if (isBlocked) return true;
  }
  return canBeBlocked(one, rest, names, where);
}

function awayFrom(app: string): RawPodSpec {
  const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app } } };
  return { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } };
}

test('what is certain holds however the others are placed', () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = new Dice(seed);
  const ports = { containers: [{ ports: [{ hostPort: 80 }], resources: { requests: { cpu: '1' } } }] };
  const kinds = [
    asks({ cpu: '1' }),
    asks({ cpu: '2' }),
    asks({ cpu: '3', memory: '1Gi' }),
    asks({ memory: '3Gi' }),
    ports,
    { ...asks({ cpu: '1' }), ...awayFrom('other') },
  ].map(spec => pod(spec));
  kinds.push(pod(asks({ cpu: '1' }), { labels: { app: 'other' } }));
  let [certain, possible] = [0, 0];
  for (let at = 0; at < CLUSTERS; at++) {
    const nodes = Array.from({ length: random.between(1, 3) }, (_, i) => {
      const allocatable = {
        cpu: `${random.between(1, 8)}`,
        memory: `${random.between(1, 8)}Gi`,
        pods: `${random.between(2, 6)}`,
      };
      return site(`n${i}`, { allocatable });
    });
    const names = nodes.map(({ name }) => name);
    const pods = Array.from({ length: random.between(1, 5) }, () => random.pick(kinds));
    const [one = kinds[0] as Pod, ...others] = pods;
    const where = snapshot(nodes);
    const open = names.flatMap(name =>
      new Judge(one, where).firstWhyNot(name).length === 0 ? (where.nodes.get(name) ?? []) : [],
    );
    const isCertain = new Competitors(pods).leaveRoomFor(one, open);
    const isBlocked = canBeBlocked(one, others, names, where);
    assert.ok(!isCertain || !isBlocked, `seed ${seed}, case ${at}`);
    if (!isBlocked) possible++;
    if (isCertain) certain++;
  }
  assert.ok(certain / possible > 0.7, `${certain} of ${possible} are said to be certain`);
});
