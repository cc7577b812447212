import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { clientCertificate, createAuthority, serverCertificate } from '../../cluster/certificates.ts';

const authority = createAuthority('test-ca');

test('creates a self-signed CA certificate', () => {
  const ca = new X509Certificate(authority.cert);
  assert.equal(ca.ca, true);
  assert.equal(ca.subject, 'CN=test-ca');
  assert.equal(ca.verify(ca.publicKey), true);
});

test('creates a serving certificate with its hosts and addresses', () => {
  const pair = serverCertificate(authority, ['127.0.0.1', 'localhost']);
  const cert = new X509Certificate(pair.cert);
  assert.equal(cert.verify(new X509Certificate(authority.cert).publicKey), true);
  assert.equal(cert.checkIssued(new X509Certificate(authority.cert)), true);
  assert.equal(cert.checkIP('127.0.0.1'), '127.0.0.1');
  assert.equal(cert.checkHost('localhost'), 'localhost');
  assert.equal(cert.checkHost('example.com'), undefined);
  assert.deepEqual(cert.keyUsage, ['1.3.6.1.5.5.7.3.1']);
});

test('creates a client certificate with user, groups, validity and its own key', () => {
  const notBefore = new Date('2020-01-02T03:04:05Z');
  const notAfter = new Date('2051-06-07T08:09:10Z');
  const pair = clientCertificate(authority, 'jané', ['team-a', 'team-b'], { notBefore, notAfter });
  const cert = new X509Certificate(pair.cert);
  assert.equal(cert.subject, 'O=team-a\nO=team-b\nCN=jané');
  assert.equal(cert.issuer, 'CN=test-ca');
  assert.deepEqual(cert.validFromDate, notBefore);
  assert.deepEqual(cert.validToDate, notAfter);
  assert.equal(cert.checkPrivateKey(createPrivateKey(pair.key)), true);
  assert.deepEqual(cert.keyUsage, ['1.3.6.1.5.5.7.3.2']);
});
