/** The programs of the test node that are built; runc is Debian's. */
export const NODE_BINARIES = [
  ...(['kubelet', 'containerd', 'containerd-shim-runc-v2', 'ctr'] as const),
  ...(['bridge', 'host-local', 'loopback', 'static', 'pause'] as const),
] as const;
