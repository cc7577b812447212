/** The client of `doctor`. src/kube implements it. */
import type { Node } from '../../nodepool/types.ts';
import type { NodesClient } from '../cluster.ts';

/** Which cluster, as whom, and where that is written. */
export interface AccessFacts {
  /** None with --cluster alone, and inside of a cluster. */
  context: string | undefined;
  cluster: string;
  server: string;
  /** Empty for anonymous. */
  user: string;
  /** Kubeconfig files, or `the service account`. */
  source: string;
  /** False with insecure-skip-tls-verify, and over http. */
  verifiesServer: boolean;
}

export interface Probe {
  /** As `v1.36.3`; undefined when this user may not ask. */
  version: string | undefined;
  /** Of one request on an open connection. */
  latencyMs: number;
  /** By the server's clock, to the second, and by ours, when an answer came; undefined when the server did not say. */
  clocks: { server: Date; ours: Date } | undefined;
  /** The server took no credentials of this user, and answers requests as those of system:anonymous, who may do nothing. */
  isAnonymous: boolean;
}

/** As RBAC has it. */
export interface AccessQuestion {
  verb: string;
  group: string;
  resource: string;
  subresource?: string;
  namespace?: string;
  /** Of one object; none asks about all. */
  name?: string;
}

export interface Subject {
  user: string;
  groups: string[];
}

export interface ExaminedNode extends Node {
  /** Names of runtime handlers, "" for the default one; undefined where the kubelet does not tell (before 1.31, or by its runtime). */
  handlers: string[] | undefined;
}

export interface DoctorPort {
  access: AccessFacts;
  /** Throws NodepoolError when there is no answer, or one that a user who is let in would not get. */
  probe(): Promise<Probe>;
  /**
   * Whether each is allowed, in their order: to this user (SelfSubjectAccessReview), or to another
   * (SubjectAccessReview, which needs a permission of its own).
   */
  allowed(questions: readonly AccessQuestion[], subject?: Subject): Promise<boolean[]>;
  nodes: Pick<NodesClient<ExaminedNode>, 'list'>;
}
