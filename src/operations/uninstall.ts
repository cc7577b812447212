/** Removes the NodePool definition, and with it every pool: so it refuses, or releases their nodes first. */
import { NodepoolError } from '../nodepool/errors.ts';
import type { DefinitionPort, DryRun, PoolsPort } from './ports.ts';

export interface UninstallOptions {
  /** Releases and deletes the pools that exist, instead of refusing. */
  cascade: boolean;
  dryRun: DryRun;
  /** How long the server may take to remove the definition. */
  timeoutMs: number;
}

export interface UninstallDeps {
  pools: PoolsPort;
  definition: DefinitionPort;
  /** Releases the nodes of these pools and deletes them. */
  deletePools(names: string[]): Promise<void>;
  /** Asked once, before the first write; false ends it. */
  confirm(pools: string[]): Promise<boolean>;
}

export type UninstallOutcome =
  | { kind: 'absent' }
  | { kind: 'declined' }
  /** With a dry run: what would have been deleted. */
  | { kind: 'deleted'; pools: string[] };

/** Throws NodepoolError while pools exist and cascade is not set, and when the server refuses or the time is over. */
export async function uninstall(options: UninstallOptions, deps: UninstallDeps): Promise<UninstallOutcome> {
  if ((await deps.definition.get()) === undefined) return { kind: 'absent' };
  const pools = (await deps.pools.list()).map(pool => pool.metadata.name).sort();
  if (pools.length > 0 && !options.cascade) throw stillUsed(pools);
  if (options.dryRun === 'client') return { kind: 'deleted', pools };
  if (options.dryRun === 'server') {
    await deps.definition.delete({ dryRun: true });
    return { kind: 'deleted', pools };
  }
  if (!(await deps.confirm(pools))) return { kind: 'declined' };
  // The definition goes last: its deletion would delete the pools while no one releases their nodes.
  if (pools.length > 0) {
    await deps.deletePools(pools);
    const left = (await deps.pools.list()).map(pool => pool.metadata.name);
    if (left.length > 0) throw notReleased(left);
  }
  await deps.definition.delete({ dryRun: false });
  await deps.definition.waitUntilGone(options.timeoutMs);
  return { kind: 'deleted', pools };
}

function stillUsed(pools: string[]): NodepoolError {
  const shown = pools.slice(0, 5).join(', ');
  const rest = pools.length > 5 ? ` and ${pools.length - 5} more` : '';
  const count = pools.length === 1 ? '1 pool exists' : `${pools.length} pools exist`;
  return new NodepoolError(
    'input',
    `${count}: ${shown}${rest}`,
    'delete them first, or add --cascade, which releases their nodes and deletes them',
  );
}

function notReleased(pools: string[]): NodepoolError {
  return new NodepoolError(
    'cluster',
    `the resource stays, since these pools could not be deleted or are new: ${pools.join(', ')}`,
    `see kubectl nodepool describe ${pools[0]}, then run uninstall again`,
  );
}
