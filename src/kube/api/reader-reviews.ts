/** authentication.k8s.io/v1 TokenReview and authorization.k8s.io/v1 SubjectAccessReview (controller/metrics-readers.ts). */
import type { ReviewedUser, ReviewPort } from '../../controller/metrics-readers.ts';
import type { Transport } from '../transport/transport.ts';
import { SUBJECT_ACCESS_REVIEWS } from './access-reviews.ts';
import type { Api } from './api.ts';
import { pathOf, type Resource } from './resource.ts';

/** As controller-runtime; the reader waits. */
const DEADLINE_MS = 10_000;

const TOKEN: Resource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'tokenreviews',
  kind: 'TokenReview',
};

interface Review<Status> {
  status?: Status;
}

export function reviewPort(api: Api, transport: Transport): ReviewPort {
  const review = async <Status>(resource: Resource, spec: object): Promise<Status | undefined> => {
    const answer = await transport.request({
      method: 'POST',
      path: pathOf(resource),
      body: { apiVersion: `${resource.group}/${resource.version}`, kind: resource.kind, spec },
      urgent: true,
      deadlineMs: DEADLINE_MS,
      replayable: true,
      isSecret: resource === TOKEN,
    });
    if (answer.status >= 300) throw api.refusal({ verb: 'create', resource }, answer);
    return (JSON.parse(answer.text) as Review<Status>).status;
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
