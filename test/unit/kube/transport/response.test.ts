import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryDelay, toResponse } from '../../../../src/kube/transport/response.ts';
import { encode, envelope } from '../protobuf/encode.ts';

const headers = { 'content-type': 'application/vnd.kubernetes.protobuf', 'retry-after': '7' };
const status = envelope('Status', encode({ 2: 'Failure', 3: 'too old', 4: 'Expired', 6: 410 }));

test('reads the message of a refusal in protobuf as in JSON', () => {
  const expected = { kind: 'Status', status: 'Failure', message: 'too old', reason: 'Expired', code: 410 };
  assert.deepEqual(JSON.parse(toResponse({ status: 410, headers, body: status }).text), expected);
});

test('keeps status and headers of a refusal with a cut, empty or unknown body', () => {
  for (const body of [status.subarray(0, -9), Buffer.alloc(0), Buffer.from('<html>')]) {
    assert.deepEqual(toResponse({ status: 429, headers, body }), { status: 429, headers, text: '' });
  }
});

test('returns a requested body unchanged, and other bodies that are not protobuf as text', () => {
  assert.deepEqual(toResponse({ status: 200, headers, body: status }), {
    status: 200,
    headers,
    text: '',
    protobuf: status,
  });
  const json = { 'content-type': 'application/json' };
  assert.deepEqual(toResponse({ status: 200, headers: json, body: Buffer.from('{}') }), {
    status: 200,
    headers: json,
    text: '{}',
  });
});

test('retries only 429 and 503 with Retry-After', () => {
  const delay = (status: number, value?: string) =>
    retryDelay({ status, headers: value === undefined ? {} : { 'retry-after': value } }, 0);
  assert.equal(delay(429, '1'), 1000);
  assert.equal(delay(503, '0'), 0);
  assert.equal(delay(429, '3600'), 3_600_000);
  assert.equal(delay(429), undefined);
  assert.equal(delay(503, 'Wed, 21 Oct 2026 07:28:00 GMT'), undefined);
  assert.equal(delay(500, '1'), undefined);
  assert.equal(delay(200, '1'), undefined);
  assert.equal(retryDelay({ status: 429, headers: { 'retry-after': '2' } }, 0.5), 2200, 'later, never sooner');
});
