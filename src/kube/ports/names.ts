/** What completion asks for: names, and whose they are, fast or not at all. */

export type NamesKind = 'pools' | 'nodes' | 'revisions' | 'namespaces' | 'pods';

export interface Names {
  names: string[];
  /** Keys of the labels that any of them has. */
  labelKeys: string[];
  /** Their values, by key; not of a key with many, as a node's hostname. */
  labelValues?: Record<string, string[]>;
  /** Of pools: what their nodes have any of. */
  resources?: string[];
  /** Of pools: the taints that any of them sets, as flags take them. */
  taints?: string[];
  startupTaints?: string[];
  /** Of pools: keys of the annotations that any of them sets. */
  annotations?: string[];
  /** Of revisions: their numbers, by the pool that they are labelled with. */
  revisions?: Record<string, string[]>;
  /** Of nodes: those that carry a pool's record, by pool. */
  recorded?: Record<string, string[]>;
  /** Of nodes: those without a record, by each role that they have. By default a pool's members have the role of its name. */
  roles?: Record<string, string[]>;
}

/** The entries of the kubeconfig, by name. */
export interface AccessNames {
  contexts: string[];
  clusters: string[];
  users: string[];
}

export interface NamesPort {
  /** Throws NodepoolError when the kubeconfig cannot be read. */
  access(): AccessNames;
  /**
   * Key of a cache: which server, as which user. It has secrets in it, and is only to be hashed. Throws NodepoolError when
   * the kubeconfig names none.
   */
  identity(): string;
  /** That of the context, or `default`. Throws as identity() does. */
  namespace(): string;
  /** Whether the login can be done without a person; only then list() may be called. */
  isQuiet(): boolean;
  /**
   * All of a kind, of pods the first ones; none for a user who may not list them. Rejects after the time, and with any
   * other error. @param namespace of pods
   */
  list(kind: NamesKind, timeoutMs: number, namespace?: string): Promise<Names>;
}
