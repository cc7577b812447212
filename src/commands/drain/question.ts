/** The question of `drain`, and what a yes to it covers. */
import { firstFew, noun, plural } from '../../nodepool/plural.ts';
import type { Question } from '../shared/consent/consent.ts';
import { chosenText, type PoolChoice } from '../shared/pools/choose-pools.ts';
import type { DrainPlan, PlannedPool } from './plan-drain.ts';

/** Named in the error that a script gets; the warnings name all. */
const MAX_BUDGETS = 5;

/**
 * A yes covers the nodes, the pods that a warning is about, and the number of all pods: which the others are changes by the
 * minute. A script would wait for blocked pods until the timeout of each node, with all nodes cordoned.
 */
export function question(
  { pools, blocked }: Pick<DrainPlan, 'pools' | 'blocked'>,
  { disableEviction, pools: choice }: { disableEviction: boolean; pools: PoolChoice },
): Question {
  const nodes = pools.flatMap(pool => pool.nodes).filter(({ isLeftAlone }) => isLeftAlone !== true);
  const all = nodes.reduce((sum, planned) => sum + planned.pods.length, 0);
  const pods = all - blocked.pods;
  const of = blocked.pods === 0 ? '' : `${pods} of `;
  const evict = `${disableEviction ? 'delete' : 'evict'} ${of}${plural(all, 'pod')}`;
  const names = pools.map(({ pool }) => pool).join(', ');
  const begun = pools.filter(pool => pool.nodes.length > 0).map(({ pool }) => pool);
  const reasons = [
    // The command line names them otherwise.
    ...('names' in choice || begun.length === 0 ? [] : [chosenText(begun, 'drained')]),
    ...(blocked.pods === 0 ? [] : [blockedText(blocked, all)]),
  ];
  return {
    text: `Drain ${noun(pools.length, 'pool')} ${names}: ${cordonAnd(evict, nodes)}?`,
    covers: [
      ...nodes.flatMap(({ node, warned }) => [`node ${node.uid}`, ...[...warned].map(uid => `warned pod ${uid}`)]),
      ...Array.from({ length: pods }, (_, at) => `pod ${at}`),
    ],
    needsYes: reasons.length === 0 ? undefined : reasons.join('; '),
  };
}

/** What is to be done to which nodes; those that are cordoned already are not cordoned. */
function cordonAnd(evict: string, nodes: PlannedPool['nodes']): string {
  const open = nodes.filter(({ node }) => !node.unschedulable).length;
  if (open === 0 && nodes.length > 0) return `${evict} from ${plural(nodes.length, 'cordoned node')}`;
  return `cordon ${open < nodes.length ? `${open} of ` : ''}${plural(nodes.length, 'node')} and ${evict}`;
}

function blockedText({ pods, budgets }: DrainPlan['blocked'], all: number): string {
  const allow = budgets.length === 1 ? 'never allows' : 'never allow';
  const what = `${noun(budgets.length, 'PodDisruptionBudget')} ${firstFew(budgets, MAX_BUDGETS)}`;
  return `${what} ${allow} ${pods} of ${plural(all, 'pod')} to be evicted`;
}
