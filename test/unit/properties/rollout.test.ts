/** Rollouts under random events: specs that change, nodes that fail, time that passes, processes that are killed. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { property } from './property.ts';
import { MARGIN_MS, SETTLE_MS, Simulation } from './rollout-simulation.ts';
import { POD_KINDS, type PodKind } from './simulated-pods.ts';

type Event =
  | { kind: 'wait'; ms: number }
  /** Where the simulation drains. */
  | { kind: 'pod'; at: number; pod: PodKind }
  | { kind: 'budget'; isThere: boolean }
  | { kind: 'delete'; at: number }
  /** during: at the write of that number. */
  | { kind: 'reconcile'; killAfter: number; during: Change; at: number }
  | Change;
type Change = { kind: 'ready' | 'not ready'; at: number } | { kind: 'edit' } | { kind: 'none' };

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('ready' as const, 'not ready' as const), at: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('edit' as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('none' as const) }) },
);
const reconcile = (killAfter: fc.Arbitrary<number>) =>
  fc.record({ kind: fc.constant('reconcile' as const), killAfter, during: change, at: fc.integer({ min: 1, max: 4 }) });
const ms = fc.oneof(fc.integer({ min: 1, max: 90_000 }), fc.integer({ min: SETTLE_MS - 999, max: SETTLE_MS + 999 }));
const wait = fc.record({ kind: fc.constant('wait' as const), ms });
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 6, arbitrary: reconcile(fc.constant(1e9)) },
  { weight: 2, arbitrary: reconcile(fc.integer({ min: 1, max: 4 })) },
  { weight: 5, arbitrary: wait },
  { weight: 4, arbitrary: change },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), at: fc.nat() }) },
);
/** A drain needs some looks, seconds apart. */
const shortWait = fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 8_000 }) });
const pod = fc.record({ kind: fc.constant('pod' as const), at: fc.nat(), pod: fc.constantFrom(...POD_KINDS) });
const budget = fc.record({ kind: fc.constant('budget' as const), isThere: fc.boolean() });
const drainEvent: fc.Arbitrary<Event> = fc.oneof(
  { weight: 18, arbitrary: event },
  { weight: 8, arbitrary: shortWait },
  { weight: 8, arbitrary: pod },
  { weight: 2, arbitrary: budget },
);
const count = (least: number) =>
  fc.oneof(
    fc.integer({ min: least, max: 6 }),
    fc.integer({ min: least, max: 100 }).map(percent => `${percent}%`),
  );
const strategy = fc.record({
  maxConcurrent: count(1),
  canary: count(0),
  settleSeconds: fc.constant(SETTLE_MS / 1000),
});
const nodeCount = fc.integer({ min: 1, max: 14 });

async function happens(simulation: Simulation, names: readonly string[], each: Event): Promise<void> {
  const nameOf = (at: number) => names[at % names.length] ?? '';
  const changes = (change: Change) => {
    if (change.kind === 'edit') simulation.edit();
    if (change.kind === 'edit' || change.kind === 'none') return;
    simulation.turn(nameOf(change.at), change.kind === 'ready');
  };
  if (each.kind === 'wait') simulation.passes(each.ms);
  else if (each.kind === 'delete') simulation.remove(nameOf(each.at));
  else if (each.kind === 'pod') simulation.pods.comes(nameOf(each.at), each.pod);
  else if (each.kind === 'budget') simulation.pods.isThere = each.isThere;
  else if (each.kind === 'reconcile') {
    let writes = 0;
    await simulation.reconcile(each.killAfter, () => {
      if (++writes === each.at) changes(each.during);
    });
  } else changes(each);
}

/** All nodes are Ready, those that failed and are gone are accepted, and all budgets allow evictions from now on: the rollout must end. */
async function ends(simulation: Simulation, names: readonly string[]): Promise<void> {
  for (const name of names) simulation.turn(name, true);
  simulation.resume();
  simulation.pods.isThere = false;
  // Each node takes its turn, and with pods three looks: evict, evict those that come back, find none.
  const steps = simulation.drains ? 5 : 1;
  for (let at = 0; at < names.length * steps + 3; at++) {
    simulation.passes((SETTLE_MS + MARGIN_MS) / (at % steps === 0 ? 1 : steps));
    await simulation.reconcile(1e9);
  }
}

property(
  'respects maxConcurrent, canary and failures, and finally updates all nodes',
  fc.asyncProperty(nodeCount, strategy, fc.array(event, { maxLength: 40 }), async (nodes, rollout, events) => {
    const simulation = new Simulation(rollout, nodes);
    await simulation.reconcile(1e9);
    assert.deepEqual(simulation.unsettled(), [], 'nodes that join are not in flight');
    simulation.edit();
    const names = [...simulation.live.keys()];
    for (const each of events) await happens(simulation, names, each);
    await ends(simulation, names);
    for (const { labels } of simulation.live.values()) assert.equal(labels.tier, `t${simulation.spec}`);
  }),
  200,
);

property(
  'with noExecute: Drain sets the taint only without intolerant pods, and finally on all nodes',
  fc.asyncProperty(nodeCount, strategy, fc.array(drainEvent, { maxLength: 60 }), async (nodes, rollout, events) => {
    const simulation = new Simulation(rollout, nodes, true);
    const names = [...simulation.live.keys()];
    // The first taints come while there are pods, too.
    for (const [at, name] of names.entries()) simulation.pods.comes(name, POD_KINDS[at % POD_KINDS.length] ?? 'plain');
    await simulation.reconcile(1e9);
    for (const each of events) await happens(simulation, names, each);
    await ends(simulation, names);
    for (const { name, labels, taints } of simulation.live.values()) {
      const value = `t${simulation.spec}`;
      assert.deepEqual([name, labels.tier, taints], [name, value, [{ key: 'dedicated', value, effect: 'NoExecute' }]]);
    }
  }),
  150,
);
