/** The programs a control plane and a node are made of; krew, which installs plugins; helm; kstatus; promtool; oras and a registry for the image; what prints kubectl's completion scripts. */
import type { ProgressStream } from './progress.ts';

/** Minor versions that `npm run test:versions` adds, with the newest patch of each. All other tests run on that of VERSIONS. */
export const OLDER = {
  '1.30': 'v1.30.14',
  '1.31': 'v1.31.14',
  '1.32': 'v1.32.13',
  '1.33': 'v1.33.13',
  '1.34': 'v1.34.4',
  '1.35': 'v1.35.4',
} as const;

export type Minor = keyof typeof OLDER;

/** Each program's release: what is built, and what the cache is keyed by. */
export const VERSIONS = {
  'kube-apiserver': 'v1.36.3',
  kubectl: 'v1.36.3',
  'kube-controller-manager': 'v1.36.3',
  'kube-scheduler': 'v1.36.3',
  etcd: 'v3.7.3',
  kubelet: 'v1.36.3',
  kwok: 'v0.8.0',
  containerd: 'v2.4.2',
  'containerd-shim-runc-v2': 'v2.4.2',
  ctr: 'v2.4.2',
  // The network plugins of containerd's pods.
  bridge: 'v1.9.1',
  'host-local': 'v1.9.1',
  loopback: 'v1.9.1',
  static: 'v1.9.1',
  pause: 'v1',
  helm: 'v4.3.1',
  krew: 'v0.5.0',
  'validate-krew-manifest': 'v0.5.0',
  kstatus: 'v0.37.2',
  // By the version of gopher-lua.
  'argocd-health': 'v1.1.2',
  // By the version of Prometheus' module.
  promtool: 'v0.316.0',
  oras: 'v1.3.6',
  // By the version of go-containerregistry.
  registry: 'v0.22.1',
  // By the version of cobra, which makes them.
  'completion-1.30': 'v1.7.0',
  'completion-1.36': 'v1.10.2',
} as const;

/** `kubectl-1.30` is the kubectl of that minor version, `kubectl` that of all other tests. */
export type Binary = keyof typeof VERSIONS | `${'kube-apiserver' | 'kubectl'}-${Minor}`;

/** A binary's program, and the minor version that its name asks for. */
export function programOf(name: Binary): { program: keyof typeof VERSIONS; minor?: Minor } {
  const [, program, minor] = /^(kube-apiserver|kubectl)-(1\.\d+)$/.exec(name) ?? [];
  if (program === undefined) return { program: name as keyof typeof VERSIONS };
  return { program: program as 'kube-apiserver' | 'kubectl', minor: minor as Minor };
}

export function versionOf(name: Binary): string {
  const { program, minor } = programOf(name);
  return minor === undefined ? VERSIONS[program] : OLDER[minor];
}

/** A program to be put at `path`, whole or not at all. */
export interface Wanted {
  name: Binary;
  version: string;
  path: string;
}

/** Puts what it can of `wanted` in place and leaves the rest to the next provider; the last one may throw. */
export type Provider = (wanted: readonly Wanted[], progress: ProgressStream) => Promise<void>;
