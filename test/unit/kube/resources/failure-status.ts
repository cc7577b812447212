/** A refused request: the body that a server sends, and the resulting error. */
import { type RequestInfo, refusal } from '../../../../src/kube/api/errors.ts';

export const access = {
  cluster: { name: 'c', server: 'https://s:6443', skipTlsVerify: false },
  user: { name: 'u', token: 't' },
  source: '/k',
};
export const now = new Date('2026-01-01T00:00:00Z');

/** `kind: message; next: next step` of the error. */
export function refusalText(asked: RequestInfo, status: number, body: string, certificateEnds?: Date): string {
  const { message, next, kind } = refusal(asked, { status, headers: {}, text: body }, { access, certificateEnds }, now);
  return `${kind}: ${message}; next: ${next}`;
}

/** Whether a retry alone does not help. */
export function isPermanent(asked: RequestInfo, status: number, body: string): boolean {
  const connection = { access, certificateEnds: undefined };
  return refusal(asked, { status, headers: {}, text: body }, connection, now).isPermanent;
}

/** A Status that a kube-apiserver 1.36 sends with a refusal. */
export function failed(code: number, reason: string, message: string, details: object = {}): string {
  return JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    metadata: {},
    code,
    reason,
    message,
    details,
  });
}
