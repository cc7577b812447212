/** What start.ts gives inside.ts. */
export interface NodePlan {
  /** The folder of the node: state, logs, configuration. */
  dir: string;
  /** Paths. */
  programs: { containerd: string; kubelet: string; runc: string };
  /** The network plugins are in it. */
  cniFolder: string;
  kubeletFlags: readonly string[];
}
