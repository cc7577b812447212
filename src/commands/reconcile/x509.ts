/** Creates X.509 certificates (RFC 5280) with ECDSA P-256 keys; Node can sign and read, but not create them. */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { hostname } from 'node:os';

// The parts of DER (ITU-T X.690) that an X.509 certificate needs. Every function returns a complete encoded element.

function element(tag: number, ...content: Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), length(body.length), body]);
}

function length(size: number): Buffer {
  if (size < 0x80) return Buffer.from([size]);
  const bytes: number[] = [];
  for (let rest = size; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

export const sequence = (...content: Uint8Array[]) => element(0x30, ...content);
const set = (...content: Uint8Array[]) => element(0x31, ...content);
export const octets = (content: Uint8Array) => element(0x04, content);
const utf8 = (text: string) => element(0x0c, Buffer.from(text));
export const bool = (value: boolean) => element(0x01, Buffer.from([value ? 0xff : 0]));
/** A bit string; the last `unused` bits do not count. */
const bits = (content: Uint8Array, unused = 0) => element(0x03, Buffer.from([unused]), content);
/** The context-specific constructed tag [number]. */
const explicit = (number: number, content: Uint8Array) => element(0xa0 | number, content);
/** The context-specific primitive tag [number]. */
export const implicit = (number: number, content: Uint8Array) => element(0x80 | number, content);

/** A non-negative integer from its big-endian bytes. */
function integer(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex(byte => byte !== 0);
  const minimal = first < 0 ? Uint8Array.of(0) : bytes.subarray(first);
  const sign = (minimal[0] ?? 0) & 0x80 ? [0] : [];
  return element(0x02, Buffer.from(sign), minimal);
}

/** An object identifier from its dotted notation. */
function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc % 128];
    for (let high = Math.floor(arc / 128); high > 0; high = Math.floor(high / 128)) groups.unshift((high % 128) | 0x80);
    bytes.push(...groups);
  }
  return element(0x06, Buffer.from(bytes));
}

/** UTCTime up to 2049, GeneralizedTime from 2050, as in RFC 5280 section 4.1.2.5. Fractions of a second are cut. */
function time(date: Date): Buffer {
  const digits = `${date.toISOString().slice(0, 19).replace(/\D/g, '')}Z`;
  return date.getUTCFullYear() < 2050
    ? element(0x17, Buffer.from(digits.slice(2)))
    : element(0x18, Buffer.from(digits));
}

const DAY_MS = 86_400_000;
const ECDSA_WITH_SHA256 = sequence(oid('1.2.840.10045.4.3.2'));
const SERVER_AUTHENTICATION = '1.3.6.1.5.5.7.3.1';

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

/** See section 4.1 of the RFC. Returns PEM. */
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

/** A self-signed serving certificate for this host: it encrypts, but proves no identity. */
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

/** @param unused bits at the end of the mask: 0x80 with 7 means only digitalSignature */
export function keyUsage(mask: Buffer, unused: number): Buffer {
  return extension('2.5.29.15', bits(mask, unused), true);
}

export function extendedKeyUsage(usage: string): Buffer {
  return extension('2.5.29.37', sequence(oid(usage)));
}

/** @param names each a GeneralName: implicit(2, …) is a DNS name, implicit(7, …) an address */
export function alternativeNames(names: readonly Buffer[]): Buffer {
  return extension('2.5.29.17', sequence(...names));
}

export function pem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function name(subject: Subject): Buffer {
  const organizations = (subject.organizations ?? []).map(group => set(sequence(oid('2.5.4.10'), utf8(group))));
  return sequence(...organizations, set(sequence(oid('2.5.4.3'), utf8(subject.commonName))));
}
