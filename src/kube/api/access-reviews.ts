/** authorization.k8s.io/v1 access reviews. They are never stored. */
import type { Api } from './api.ts';
import type { Resource } from './resource.ts';

interface Review {
  status?: { allowed?: boolean };
}

const SELF: Resource = review('selfsubjectaccessreviews', 'SelfSubjectAccessReview');
export const SUBJECT_ACCESS_REVIEWS: Resource = review('subjectaccessreviews', 'SubjectAccessReview');

function review(plural: string, kind: string): Resource {
  return { group: 'authorization.k8s.io', version: 'v1', plural, kind };
}

/**
 * Throws NodepoolError.
 * @param subject default: the user of the connection
 */
export async function isAllowed(api: Api, question: AccessQuestion, subject: Subject | undefined): Promise<boolean> {
  const resource = subject === undefined ? SELF : SUBJECT_ACCESS_REVIEWS;
  const body = {
    apiVersion: `${resource.group}/${resource.version}`,
    kind: resource.kind,
    spec: { resourceAttributes: question, ...subject },
  };
  const { status } = await api.review<Review>(resource, body, `${question.verb} ${question.resource}`);
  return status?.allowed === true;
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
