/** A world whose pods are placed and run: beside it Kubernetes' own controller manager and scheduler, and kwok as the kubelets. */

import { after, before } from 'node:test';
import { ensureBinaries } from '../cluster/binaries.ts';
import { CONTROLLER_BINARIES, type Controllers, startControllers } from '../cluster/controllers.ts';
import type { ClusterOptions } from '../cluster/harness.ts';
import { useWorld, type World } from './world.ts';

const START_MS = 900_000;

/** For a suite: root hooks do not wait for each other. */
export function useFullWorld(options: ClusterOptions = {}): World {
  let controllers: Controllers | undefined;
  // Hooks run in the order in which they are written: this one before the control plane's end.
  after(async () => controllers?.stop());
  const world = useWorld({ own: true, ...options });
  before(
    async () => {
      await ensureBinaries(CONTROLLER_BINARIES);
      // After the definition: the garbage collector looks for new kinds every 30 s only.
      controllers = await startControllers(world.cluster());
    },
    { timeout: START_MS },
  );
  return world;
}
