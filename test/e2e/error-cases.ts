/** Errors as a user sees them, and kubeconfigs that cause them. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { cli, useCluster } from '../cluster/harness.ts';

interface ErrorCases {
  cluster(): ControlPlane;
  /** The error of a command that requests only the version: the text depends on the runtime, of which there are two. */
  reported(kubeconfig: string, ...flags: string[]): Promise<string>;
  /** Writes a kubeconfig, with YAML of the user and more YAML of the cluster; returns its path. */
  kubeconfig(server: string, user?: string, clusterMore?: string): Promise<string>;
}

export function useErrorCases(): ErrorCases {
  const cluster = useCluster();
  let files = 0;
  return {
    cluster,
    async reported(kubeconfig, ...flags) {
      const { code, stdout, stderr } = await cli(cluster(), ['version', '--kubeconfig', kubeconfig, ...flags]);
      assert.deepEqual([code, stdout.split('\n').length], [1, 2], stdout);
      const [, line] = /^error: (.*)\n$/.exec(stderr) ?? assert.fail(stderr);
      return line ?? '';
    },
    async kubeconfig(server, user = '', clusterMore = '') {
      files += 1;
      const path = join(cluster().dir, `errors-${files}.kubeconfig`);
      await writeFile(
        path,
        `{current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {${user}}}],
        clusters: [{name: c, cluster: {server: "${server}"${clusterMore}}}]}`,
      );
      return path;
    },
  };
}
