/** Installs or updates the NodePool definition. Idempotent. */
import type { DefinitionPort, DryRun } from './ports.ts';

export interface InstallOptions {
  definition: Record<string, unknown>;
  dryRun: DryRun;
  /** How long the server may take to serve the new resource. */
  timeoutMs: number;
}

export interface InstallDeps {
  /** Called only when something is sent: a client dry run needs no cluster. */
  connect(): Promise<{ definition: DefinitionPort }>;
}

/** Resolves once nodepools can be created; throws NodepoolError when the server refuses or the time is over. */
export async function install(
  { definition, dryRun, timeoutMs }: InstallOptions,
  deps: InstallDeps,
): Promise<'created' | 'configured' | 'unchanged'> {
  if (dryRun === 'client') return 'created';
  const port = (await deps.connect()).definition;
  const outcome = await port.apply(definition, { dryRun: dryRun === 'server' });
  if (dryRun === 'none') await port.waitUntilEstablished(timeoutMs);
  return outcome;
}
