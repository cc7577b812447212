/** Installs or updates the NodePool definition, and the controller where it is asked for. Idempotent. */
import { NodepoolError } from '../nodepool/errors.ts';
import type { DefinitionPort, DryRun, ManifestObject, ManifestsPort } from './ports.ts';

export interface InstallOptions {
  definition: Record<string, unknown>;
  /** The controller's objects in the order of their creation; none when it is not wanted. */
  controller: ManifestObject[];
  dryRun: DryRun;
  /** How long the server may take to serve the new resource. */
  timeoutMs: number;
}

export interface InstallDeps {
  /** Called only when something is sent: a client dry run needs no cluster. */
  connect(): Promise<{ definition: DefinitionPort; manifests: ManifestsPort }>;
}

export type Applied = 'created' | 'configured' | 'unchanged';

export interface InstallOutcome {
  definition: Applied;
  controller: {
    object: ManifestObject;
    applied: Applied;
    /** False when a server dry run could not look at it: its namespace is only about to be created. */
    checked: boolean;
  }[];
}

/** Resolves once nodepools can be created; throws NodepoolError when the server refuses or the time is over. */
export async function install(
  { definition, controller, dryRun, timeoutMs }: InstallOptions,
  deps: InstallDeps,
): Promise<InstallOutcome> {
  if (dryRun === 'client') {
    const created = controller.map(object => ({ object, applied: 'created' as const, checked: true }));
    return { definition: 'created', controller: created };
  }
  const ports = await deps.connect();
  const outcome: InstallOutcome = {
    definition: await ports.definition.apply(definition, { dryRun: dryRun === 'server' }),
    controller: [],
  };
  if (dryRun === 'none') await ports.definition.waitUntilEstablished(timeoutMs);
  for (const object of controller) {
    const applied = await ports.manifests.apply(object, { dryRun: dryRun === 'server' });
    if (applied !== 'no namespace') outcome.controller.push({ object, applied, checked: true });
    else if (dryRun === 'server') outcome.controller.push({ object, applied: 'created', checked: false });
    else throw namespaceGone(object);
  }
  return outcome;
}

function namespaceGone({ kind, metadata: { name, namespace } }: ManifestObject): NodepoolError {
  const text = `cannot create ${kind} ${name}: its namespace ${namespace} was deleted meanwhile`;
  return new NodepoolError('cluster', text, 'run the command again');
}
