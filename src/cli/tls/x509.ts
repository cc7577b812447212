/** Writes X.509 certificates (RFC 5280) with ECDSA P-256 keys: Node can sign and read them, but not write them. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { hostname } from 'node:os';
import { bits, bool, explicit, implicit, integer, octets, oid, sequence, set, time, utf8 } from './der.ts';

const DAY_MS = 86_400_000;
const ECDSA_WITH_SHA256 = sequence(oid('1.2.840.10045.4.3.2'));
const SERVER_AUTHENTICATION = '1.3.6.1.5.5.7.3.1';

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  cert: string;
  key: string;
}

export interface Validity {
  /** Default: an hour ago. */
  notBefore?: Date;
  /** Default: in a year. */
  notAfter?: Date;
}

export interface Subject {
  commonName: string;
  organizations?: readonly string[];
}

/** Section 4.1. Returns PEM. */
export function certificate(parts: {
  subject: Subject;
  publicKey: KeyObject;
  issuer: { commonName: string; privateKey: KeyObject };
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

/** A serving certificate of this host that no authority signed: it encrypts, and proves nothing. */
export function selfSigned(): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const subject = { commonName: hostname() };
  const cert = certificate({
    subject,
    publicKey,
    issuer: { ...subject, privateKey },
    validity: {},
    extensions: [
      keyUsage(Buffer.from([0x80]), 7),
      extendedKeyUsage(SERVER_AUTHENTICATION),
      alternativeNames([implicit(2, Buffer.from(subject.commonName))]),
    ],
  });
  return { cert, key: pem(privateKey) };
}

export function extension(id: string, value: Buffer, critical = false): Buffer {
  return critical ? sequence(oid(id), bool(true), octets(value)) : sequence(oid(id), octets(value));
}

/** @param unused bits at the end of the mask: 0x80 with 7 is digitalSignature alone */
export function keyUsage(mask: Buffer, unused: number): Buffer {
  return extension('2.5.29.15', bits(mask, unused), true);
}

export function extendedKeyUsage(usage: string): Buffer {
  return extension('2.5.29.37', sequence(oid(usage)));
}

/** @param names as GeneralName: implicit(2, …) is a DNS name, implicit(7, …) an address */
export function alternativeNames(names: readonly Buffer[]): Buffer {
  return extension('2.5.29.17', sequence(...names));
}

export function keyIdentifier(publicKey: KeyObject): Buffer {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest()
    .subarray(0, 20);
}

export function pem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function name(subject: Subject): Buffer {
  const organizations = (subject.organizations ?? []).map(group => set(sequence(oid('2.5.4.10'), utf8(group))));
  return sequence(...organizations, set(sequence(oid('2.5.4.3'), utf8(subject.commonName))));
}
