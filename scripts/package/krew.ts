/** The krew manifest of the plugin: krew.sigs.k8s.io/docs/developer-guide/plugin-manifest. */
import pjson from '../../package.json' with { type: 'json' };
import { archiveName } from './archive.ts';
import { programOf, TARGETS, type Target } from './targets.ts';

/** krew requires the plugin's name as kubectl calls it. */
export const KREW_FILE = 'nodepool.yaml';

const SHORT = 'Manage node pools: labels, taints, RuntimeClass';
const REPOSITORY = pjson.repository.url.replace(/^git\+/, '').replace(/\.git$/, '');

/** krew selects by os and arch alone, so linux has the executable for glibc. */
export const KREW_TARGETS: readonly Target[] = TARGETS.filter(({ libc }) => libc !== 'musl');

/** @param archives the SHA-256 of each platform's archive; those of other platforms are left out */
export function krewManifest(archives: readonly { target: Target; sha256: string }[]): string {
  const selected = archives.filter(({ target }) => KREW_TARGETS.includes(target));
  const platforms = selected.map(
    ({ target, sha256 }) => `  - selector:
      matchLabels:
        os: ${target.os}
        arch: ${target.arch}
    uri: ${REPOSITORY}/releases/download/v${pjson.version}/${archiveName(target)}
    sha256: ${sha256}
    bin: ${programOf(target)}
`,
  );
  return `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: nodepool
spec:
  version: v${pjson.version}
  homepage: ${pjson.homepage}
  shortDescription: ${JSON.stringify(SHORT)}
  description: |
    A NodePool says which nodes belong together, and the labels, taints and
    RuntimeClass that they share. The plugin shows what would change, and why,
    changes it without losing what others set, and restores it when a node
    leaves. It runs on your machine or in the cluster.
  caveats: |
    Once for each cluster:
      kubectl nodepool install
    How to have pools and nodes completed by kubectl:
      kubectl nodepool completion --help
  platforms:
${platforms.join('')}`;
}
