/** Refusals by admission policies and webhooks, whatever status they come with. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestInfo } from '../../../../src/kube/api/errors.ts';
import { NODE_POOLS, NODES } from '../../../../src/kube/api/resource.ts';
import { failed, isPermanent, refusalText } from '../resources/failure-status.ts';

const patchNode: RequestInfo = { verb: 'patch', resource: NODES, name: 'n' };
const createPool: RequestInfo = { verb: 'create', resource: NODE_POOLS, name: 'p' };

const table: [string, RequestInfo, number, string, string][] = [
  [
    'a webhook that fails',
    createPool,
    500,
    failed(500, 'InternalError', 'Internal error occurred: failed calling webhook "w.io": Post "https://w": EOF'),
    'cluster: cannot create NodePool "p": the server failed to call admission webhook "w.io": Post "https://w": EOF; next: try again; if the error persists, ask the owner of the webhook: kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations',
  ],
  [
    'a validating policy, with the status of a wrong object',
    patchNode,
    422,
    failed(
      422,
      'Invalid',
      "nodes \"n\" is forbidden: ValidatingAdmissionPolicy 'frozen.example.com' with binding 'all' denied request: not now",
      { name: 'n', causes: [{ message: "ValidatingAdmissionPolicy 'frozen.example.com' denied request: not now" }] },
    ),
    'cluster: cannot patch Node "n": denied by ValidatingAdmissionPolicy "frozen.example.com": not now; next: ask the owner of the policy to allow this request: kubectl get validatingadmissionpolicy frozen.example.com -o yaml',
  ],
  [
    'a validating policy, with the status of wrong credentials',
    patchNode,
    401,
    failed(401, 'Unauthorized', 'nodes "n" is forbidden: ValidatingAdmissionPolicy \'frozen\' denied request: not now'),
    'cluster: cannot patch Node "n": denied by ValidatingAdmissionPolicy "frozen": not now; next: ask the owner of the policy to allow this request: kubectl get validatingadmissionpolicy frozen -o yaml',
  ],
  [
    'a mutating policy that fails',
    patchNode,
    403,
    failed(403, 'Invalid', "policy 'rewrite' with binding 'rewrite' denied request: no such key: tier"),
    'cluster: cannot patch Node "n": denied by MutatingAdmissionPolicy "rewrite": no such key: tier; next: ask the owner of the policy to allow this request: kubectl get mutatingadmissionpolicy rewrite -o yaml',
  ],
  [
    'a webhook that refuses, with the status of a conflict',
    patchNode,
    409,
    failed(409, 'Conflict', 'admission webhook "w.example.com" denied the request: no'),
    'cluster: cannot patch Node "n": denied by admission webhook "w.example.com": no; next: ask the owner of the webhook to allow this request: kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations',
  ],
  [
    'a webhook that refuses without a message',
    patchNode,
    400,
    failed(400, '', 'admission webhook "w.example.com" denied the request without explanation'),
    'cluster: cannot patch Node "n": denied by admission webhook "w.example.com" without a reason; next: ask the owner of the webhook to allow this request: kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations',
  ],
];
for (const [name, asked, status, body, expected] of table) {
  test(name, () => {
    assert.equal(refusalText(asked, status, body), expected);
    assert.equal(isPermanent(asked, status, body), expected.includes('denied by'));
  });
}
