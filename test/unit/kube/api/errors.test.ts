/** Bodies were recorded from a kube-apiserver 1.36. Of policies and webhooks: errors-policy.test.ts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type RequestInfo, refusal } from '../../../../src/kube/api/errors.ts';
import { EVENTS, NODE_POOLS, NODES } from '../../../../src/kube/api/resource.ts';
import { access, failed, isPermanent, now, refusalText as text } from '../resources/failure-status.ts';

const patchNode: RequestInfo = { verb: 'patch', resource: NODES, name: 'n' };
const createPool: RequestInfo = { verb: 'create', resource: NODE_POOLS, name: 'p' };

describe('describes a refusal', () => {
  const forbidden = (sentence: string) =>
    failed(403, 'Forbidden', `nodes "n" is forbidden: ${sentence}`, { name: 'n' });
  const table: [string, RequestInfo, number, string, string][] = [
    [
      'a missing permission of the core group',
      patchNode,
      403,
      forbidden('User "bob" cannot patch resource "nodes" in API group "" at the cluster scope'),
      'cluster: user "bob" may not patch Node "n"; next: ask for a role with verb patch on nodes',
    ],
    [
      'an admission plugin',
      patchNode,
      403,
      forbidden('node "n" is not allowed to modify labels'),
      'cluster: cannot patch Node "n": nodes "n" is forbidden: node "n" is not allowed to modify labels; next: ask the cluster\'s administrator',
    ],
    [
      'the NodePool resource is not served',
      { verb: 'list', resource: NODE_POOLS },
      404,
      '404 page not found\n',
      'cluster: the server https://s:6443 does not have the NodePool resource; next: run `kubectl nodepool install`',
    ],
    [
      'another resource is not served',
      { verb: 'list', resource: EVENTS },
      404,
      '404 page not found\n',
      'cluster: the server https://s:6443 does not have the resource events.events.k8s.io v1; next: check the address in the kubeconfig, and that the cluster is recent enough',
    ],
    [
      'a path that is no resource',
      { verb: 'get', resource: { group: '', version: '', plural: 'the version', kind: 'the version' } },
      404,
      '{"kind":"Status","apiVersion":"v1","status":"Failure","code":404}',
      'cluster: cannot get the version: the server https://s:6443 does not have it (404); next: check the address in the kubeconfig, and that the cluster is recent enough',
    ],
    [
      'a missing object',
      patchNode,
      404,
      failed(404, 'NotFound', 'nodes "n" not found', { name: 'n', kind: 'nodes' }),
      'cluster: Node "n" not found; next: undefined',
    ],
    [
      'a name that already exists',
      createPool,
      409,
      failed(409, 'AlreadyExists', 'nodepools.nodes.lailin.xyz "p" already exists', { name: 'p' }),
      'cluster: NodePool "p" already exists; next: use another name',
    ],
    [
      'a conflict',
      patchNode,
      409,
      failed(409, 'Conflict', 'Operation cannot be fulfilled on nodes "n": the object has been modified', {
        name: 'n',
      }),
      'cluster: cannot patch Node "n": the object has been modified by somebody else; next: run the command again',
    ],
    [
      'one invalid field',
      createPool,
      422,
      failed(422, 'Invalid', 'NodePool "p" is invalid: …', {
        name: 'p',
        causes: [{ reason: 'FieldValueInvalid', message: 'Invalid value: "A"', field: 'spec.handler' }],
      }),
      'input: cannot create NodePool "p": invalid: spec.handler: Invalid value: "A"; next: correct the object',
    ],
    [
      'several invalid fields, each once on its own line',
      createPool,
      422,
      failed(422, 'Invalid', 'NodePool "p" is invalid: …', {
        causes: [
          { message: 'Invalid value: "A"', field: 'spec.handler' },
          { message: 'Invalid value: "A"', field: 'spec.handler' },
          { message: 'Required value', field: 'spec.taints[0].key' },
        ],
      }),
      'input: cannot create NodePool "p": invalid:\n  spec.handler: Invalid value: "A"\n  spec.taints[0].key: Required value; next: correct the object',
    ],
    [
      'an unknown field',
      createPool,
      400,
      failed(
        400,
        'BadRequest',
        'NodePool in version "v1" cannot be handled as a NodePool: strict decoding error: unknown field "spec.x"',
      ),
      'input: cannot create NodePool "p": unknown field "spec.x"; next: correct or remove that field',
    ],
    [
      'a field that the CRD lacks, in a patch',
      createPool,
      422,
      failed(
        422,
        'Invalid',
        'NodePool "p" is invalid: patch: Invalid value: "{}": strict decoding error: unknown field "spec.taints[0].key"',
      ),
      'cluster: cannot create NodePool "p": the CRD nodepools.nodes.lailin.xyz is from another version: unknown field "spec.taints[0].key"; next: run `kubectl nodepool install`',
    ],
    [
      'overload',
      patchNode,
      429,
      failed(429, 'TooManyRequests', 'too many requests, please try again later'),
      'cluster: cannot patch Node "n": the server https://s:6443 is overloaded or not ready (429): too many requests, please try again later; next: try again in a moment',
    ],
    [
      'a bare 503 of a load balancer',
      patchNode,
      503,
      '<html>\n<body>503</body></html>',
      'cluster: cannot patch Node "n": the server https://s:6443 is overloaded or not ready (503): <html>; next: try again in a moment',
    ],
    [
      '504',
      patchNode,
      504,
      failed(504, 'Timeout', 'Timeout: request did not complete'),
      'cluster: cannot patch Node "n": the server https://s:6443 ran out of time (504): Timeout: request did not complete; next: try again in a moment',
    ],
  ];
  for (const [name, asked, status, body, expected] of table) {
    test(name, () => assert.equal(text(asked, status, body), expected));
  }

  test('names the certificate for a 401 only after its expiry', () => {
    const body = failed(401, 'Unauthorized', 'Unauthorized');
    assert.match(
      text(patchNode, 401, body, new Date('2025-01-01T00:00:00Z')),
      /certificate of user "u" in \/k expired at 2025-01-01T00:00:00Z/,
    );
    assert.match(
      text(patchNode, 401, body, new Date('2027-01-01T00:00:00Z')),
      /refused the credentials of user "u" \(401\)/,
    );
  });
});

test('names whether credentials were sent when the server sees system:anonymous', () => {
  const body = failed(
    403,
    'Forbidden',
    'nodes "n" is forbidden: User "system:anonymous" cannot patch resource "nodes" in API group "" at the cluster scope',
  );
  const lacks = 'and user "system:anonymous" may not do this';
  const next = 'use --user, --context or --token';
  const none = { ...access, user: { name: '' } };
  const of = (given: typeof access | typeof none, status: number, text: string) => {
    const { message, next } = refusal(
      patchNode,
      { status, headers: {}, text },
      { access: given, certificateEnds: undefined },
      now,
    );
    return [message, next];
  };
  assert.deepEqual(of(none, 403, body), [`cannot patch Node "n": no credentials were sent, ${lacks}`, next]);
  assert.deepEqual(of(access, 403, body), [
    `cannot patch Node "n": the server ignores the credentials of user "u", ${lacks}`,
    'log in again, or use another user with --user or --context',
  ]);
  const unauthorized = failed(401, 'Unauthorized', 'Unauthorized');
  const wants = 'the server https://s:6443 requires credentials (401), but none were sent';
  assert.deepEqual(of(none, 401, unauthorized), [`${wants}: no user is set`, next]);
  const bare = { ...access, user: { name: 'u' } };
  assert.deepEqual(of(bare, 401, unauthorized), [`${wants}: user "u" has none`, next]);
});

test('reports that a server is not an API server, and where to look', () => {
  const list: RequestInfo = { verb: 'list', resource: NODE_POOLS };
  const next =
    'check server of cluster "c" in /k: scheme, address, port and path, and whether a proxy or login page answers instead';
  const html = { 'content-type': 'text/html; charset=utf-8' };
  for (const [status, headers, body, said] of [
    [302, { location: 'https://login.example.com/' }, '', 'it answered 302, see https://login.example.com/'],
    [307, {}, '', 'it answered 307: no reason given'],
    [404, html, '<html>', 'it answered 404 with a page'],
    [403, html, '<html>', 'it answered 403 with a page'],
    [404, {}, 'default backend - 404', 'it answered 404: default backend - 404'],
    [404, {}, '{\n "message": "no Route matched"\n}', 'it answered 404 with JSON that is not a Status'],
    [
      400,
      { 'content-type': 'text/plain' },
      'Client sent an HTTP request to an HTTPS server.\n',
      'it answered 400: Client sent an HTTP request to an HTTPS server.',
    ],
  ] as const) {
    const error = refusal(list, { status, headers, text: body }, { access, certificateEnds: undefined }, now);
    const message = `https://s:6443 is not a Kubernetes API server: ${said}`;
    assert.deepEqual([error.kind, error.message, error.next], ['cluster', message, next]);
  }
  const unauthorized = refusal(
    list,
    { status: 401, headers: html, text: '<html>' },
    { access, certificateEnds: undefined },
    now,
  );
  assert.match(unauthorized.message, /refused the credentials/);
});

test('marks missing permissions, refusals by admission and invalid objects as permanent', () => {
  const rbac = 'User "u" cannot patch resource "nodes" in API group ""';
  const of = (code: number, sentence = 'x') => isPermanent(patchNode, code, failed(code, '', sentence));
  assert.deepEqual([of(403, rbac), of(403), of(400), of(422)], [true, true, true, true]);
  assert.deepEqual(
    [409, 429, 500, 503, 504].map(code => of(code)),
    [false, false, false, false, false],
  );
});
