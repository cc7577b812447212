/**
 * Certificates for the control plane of the tests: ECDSA P-256, signed with node:crypto.
 * Written here, because neither openssl nor Go may be there when the binaries come from TEST_ASSET_*.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { isIP } from 'node:net';
import { bits, bool, explicit, implicit, integer, octets, oid, sequence, set, time, utf8 } from './der.ts';

const DAY_MS = 86_400_000;
const ECDSA_WITH_SHA256 = sequence(oid('1.2.840.10045.4.3.2'));

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  cert: string;
  key: string;
}

export interface Authority extends KeyPair {
  commonName: string;
  privateKey: KeyObject;
  keyId: Buffer;
}

export interface Validity {
  /** Default: an hour ago. */
  notBefore?: Date;
  /** Default: in a year. */
  notAfter?: Date;
}

interface Subject {
  commonName: string;
  organizations?: readonly string[];
}

export function createAuthority(commonName: string): Authority {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const keyId = keyIdentifier(keys.publicKey);
  const cert = certificate({
    subject: { commonName },
    publicKey: keys.publicKey,
    issuer: { commonName, privateKey: keys.privateKey, keyId },
    validity: {},
    // keyUsage: digitalSignature, keyCertSign, cRLSign.
    extensions: [
      extension('2.5.29.19', sequence(bool(true)), true),
      extension('2.5.29.15', bits(Buffer.from([0x86]), 1), true),
      extension('2.5.29.14', octets(keyId)),
    ],
  });
  return { commonName, cert, key: pem(keys.privateKey), privateKey: keys.privateKey, keyId };
}

/** The authority that another process created. */
export function loadAuthority({ commonName, cert, key }: KeyPair & { commonName: string }): Authority {
  const privateKey = createPrivateKey(key);
  return { commonName, cert, key, privateKey, keyId: keyIdentifier(createPublicKey(privateKey)) };
}

/** A serving certificate for these DNS names and IPv4 addresses. */
export function serverCertificate(authority: Authority, names: readonly string[]): KeyPair {
  const alternatives = names.map(name =>
    isIP(name) ? implicit(7, Buffer.from(name.split('.').map(Number))) : implicit(2, Buffer.from(name)),
  );
  return leaf(authority, { commonName: 'kube-apiserver' }, '1.3.6.1.5.5.7.3.1', {}, [
    extension('2.5.29.17', sequence(...alternatives)),
  ]);
}

/** A client certificate: the API server takes the user from the common name and the groups from the organizations. */
export function clientCertificate(
  authority: Authority,
  user: string,
  groups: readonly string[] = [],
  validity: Validity = {},
): KeyPair {
  return leaf(authority, { commonName: user, organizations: groups }, '1.3.6.1.5.5.7.3.2', validity, []);
}

function leaf(authority: Authority, subject: Subject, usage: string, validity: Validity, more: Buffer[]): KeyPair {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const cert = certificate({
    subject,
    publicKey: keys.publicKey,
    issuer: authority,
    validity,
    // keyUsage: digitalSignature.
    extensions: [
      extension('2.5.29.15', bits(Buffer.from([0x80]), 7), true),
      extension('2.5.29.37', sequence(oid(usage))),
      extension('2.5.29.35', sequence(implicit(0, authority.keyId))),
      ...more,
    ],
  });
  return { cert, key: pem(keys.privateKey) };
}

/** RFC 5280 section 4.1. */
function certificate(parts: {
  subject: Subject;
  publicKey: KeyObject;
  issuer: Pick<Authority, 'commonName' | 'privateKey' | 'keyId'>;
  validity: Validity;
  extensions: Buffer[];
}): string {
  const { notBefore = new Date(Date.now() - DAY_MS / 24), notAfter = new Date(Date.now() + 365 * DAY_MS) } =
    parts.validity;
  const body = sequence(
    explicit(0, integer(Uint8Array.of(2))),
    integer(randomBytes(16)),
    ECDSA_WITH_SHA256,
    name({ commonName: parts.issuer.commonName }),
    sequence(time(notBefore), time(notAfter)),
    name(parts.subject),
    parts.publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...parts.extensions)),
  );
  const der = sequence(body, ECDSA_WITH_SHA256, bits(sign('sha256', body, parts.issuer.privateKey)));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

function name(subject: Subject): Buffer {
  const organizations = (subject.organizations ?? []).map(group => set(sequence(oid('2.5.4.10'), utf8(group))));
  return sequence(...organizations, set(sequence(oid('2.5.4.3'), utf8(subject.commonName))));
}

function extension(id: string, value: Buffer, critical = false): Buffer {
  return critical ? sequence(oid(id), bool(true), octets(value)) : sequence(oid(id), octets(value));
}

function keyIdentifier(publicKey: KeyObject): Buffer {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest()
    .subarray(0, 20);
}

function pem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}
