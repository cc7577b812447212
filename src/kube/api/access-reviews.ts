/** authorization.k8s.io/v1 access reviews: what a user may do. TokenReviews: who reads the metrics. */

import type { ReviewedUser, ReviewPort } from '../../controller/metrics-readers.ts';
import type { Api } from './api.ts';
import type { Resource } from './resource.ts';

interface AccessReview {
  status?: { allowed?: boolean };
}

const SELF: Resource = review('selfsubjectaccessreviews', 'SelfSubjectAccessReview');
const SUBJECT_ACCESS_REVIEWS: Resource = review('subjectaccessreviews', 'SubjectAccessReview');

function review(plural: string, kind: string): Resource {
  return { group: 'authorization.k8s.io', version: 'v1', plural, kind };
}

/** Throws NodepoolError. @param subject default: the user of the connection */
export async function isAllowed(
  api: Api,
  question: AccessQuestion,
  subject: ReviewSubject | undefined,
): Promise<boolean> {
  const resource = subject === undefined ? SELF : SUBJECT_ACCESS_REVIEWS;
  const spec = { resourceAttributes: question, ...subject };
  const { status } = await api.review<AccessReview>(resource, spec, `${question.verb} ${question.resource}`);
  return status?.allowed === true;
}

/** The attributes of a request, as in an RBAC rule. */
export interface AccessQuestion {
  verb: string;
  group: string;
  resource: string;
  subresource?: string;
  namespace?: string;
  /** The name of one object; without it, all objects are meant. */
  name?: string;
}

export interface ReviewSubject {
  user: string;
  groups: string[];
}

// Reviews of readers of the metrics (controller/metrics-readers.ts).

/** As in controller-runtime: the reader waits for the response. */
const DEADLINE_MS = 10_000;

const TOKEN: Resource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'tokenreviews',
  kind: 'TokenReview',
};

interface ReviewAnswer<Status> {
  status?: Status;
}

export function reviewPort(api: Api): ReviewPort {
  const review = async <Status>(resource: Resource, spec: object): Promise<Status | undefined> => {
    const sending = { urgent: true, deadlineMs: DEADLINE_MS, isSecret: resource === TOKEN };
    const answer = await api.sendReview(resource, spec, sending);
    if (answer.status >= 300) throw api.refusal({ verb: 'create', resource }, answer);
    return (JSON.parse(answer.text) as ReviewAnswer<Status>).status;
  };
  return {
    async userOf(token) {
      const status = await review<{ authenticated?: boolean; user?: ReviewedUser }>(TOKEN, { token });
      return status?.authenticated === true ? status.user : undefined;
    },
    async mayAccess({ username, ...user }, verb, path) {
      const spec = { user: username, ...user, nonResourceAttributes: { verb, path } };
      return (await review<{ allowed?: boolean }>(SUBJECT_ACCESS_REVIEWS, spec))?.allowed === true;
    },
  };
}
