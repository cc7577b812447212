import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toAnswer } from '../../../../src/kube/transport/answer.ts';
import { encode, envelope } from '../protobuf/encode.ts';

const headers = { 'content-type': 'application/vnd.kubernetes.protobuf', 'retry-after': '7' };
const status = envelope('Status', encode({ 2: 'Failure', 3: 'too old', 4: 'Expired', 6: 410 }));

test('reads the message of a refusal in protobuf as in JSON', () => {
  const expected = { kind: 'Status', status: 'Failure', message: 'too old', reason: 'Expired', code: 410 };
  assert.deepEqual(JSON.parse(toAnswer({ status: 410, headers, body: status }).text), expected);
});

test('keeps status and headers of a refusal that is cut, empty or unknown', () => {
  for (const body of [status.subarray(0, -9), Buffer.alloc(0), Buffer.from('<html>')]) {
    assert.deepEqual(toAnswer({ status: 429, headers, body }), { status: 429, headers, text: '' });
  }
});

test('returns a requested body unchanged; a body that is not protobuf is text', () => {
  assert.deepEqual(toAnswer({ status: 200, headers, body: status }), {
    status: 200,
    headers,
    text: '',
    protobuf: status,
  });
  const json = { 'content-type': 'application/json' };
  assert.deepEqual(toAnswer({ status: 200, headers: json, body: Buffer.from('{}') }), {
    status: 200,
    headers: json,
    text: '{}',
  });
});
