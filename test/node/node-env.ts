/** A control plane with controllers and real nodes (test/cluster/node), and the image of the controller on them. */
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { ensureBinaries } from '../cluster/binaries.ts';
import { type ControlPlane, startControlPlane } from '../cluster/control-plane.ts';
import { CONTROLLER_BINARIES, type Controllers, startControllers } from '../cluster/controllers.ts';
import { kubectl } from '../cluster/harness.ts';
import { NODE_BINARIES } from '../cluster/node/binaries.ts';
import { importController } from '../cluster/node/controller-image.ts';
import { type RealNode, startNode } from '../cluster/node/start.ts';

const START_MS = 1_800_000;

export interface NodeEnv {
  cluster(): ControlPlane;
  node(name: string): RealNode;
  /** Makes the image of an OCI archive known to all nodes. */
  importImage(archive: string): Promise<void>;
  /** Runs kubectl, which must succeed; returns its stdout. */
  kubectl(...args: string[]): Promise<string>;
}

/** Call it in a suite: root hooks do not wait for each other. */
export function useNodeEnv(...names: string[]): NodeEnv {
  let cluster: ControlPlane | undefined;
  let controllers: Controllers | undefined;
  const nodes: RealNode[] = [];
  before(
    async () => {
      await ensureBinaries(['etcd', 'kube-apiserver', 'kubectl', ...CONTROLLER_BINARIES, ...NODE_BINARIES]);
      cluster = await startControlPlane({ controlled: true });
      controllers = await startControllers(cluster);
      for (const name of names) nodes.push(await startNode(cluster, name));
      await importController(nodes);
    },
    { timeout: START_MS },
  );
  after(async () => {
    for (const node of nodes) await node.stop();
    await controllers?.stop();
    await cluster?.stop();
  });
  const there = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error('the node is only there inside of tests');
    return value;
  };
  return {
    cluster: () => there(cluster),
    node: name => there(nodes.find(one => one.name === name)),
    async importImage(archive) {
      for (const node of nodes) await node.importImage(archive);
    },
    async kubectl(...args) {
      const { code, stdout, stderr } = await kubectl(there(cluster), args);
      assert.equal(code, 0, `kubectl ${args.join(' ')}: ${stderr}`);
      return stdout;
    },
  };
}
