/**
 * Certificates for the control plane of the tests: ECDSA P-256, signed with node:crypto.
 * Written here, because neither openssl nor Go may be there when the binaries come from TEST_ASSET_*.
 */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
import {
  alternativeNames,
  bool,
  certificate,
  extendedKeyUsage,
  extension,
  implicit,
  type KeyPair,
  keyUsage,
  octets,
  pem,
  type Subject,
  sequence,
  type Validity,
} from '../../src/commands/reconcile/x509.ts';

export type { KeyPair, Validity };

export interface Authority extends KeyPair {
  commonName: string;
  privateKey: KeyObject;
  keyId: Buffer;
}

export function createAuthority(commonName: string): Authority {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const keyId = keyIdentifier(keys.publicKey);
  const cert = certificate({
    subject: { commonName },
    publicKey: keys.publicKey,
    issuer: { commonName, privateKey: keys.privateKey },
    validity: {},
    // keyUsage: digitalSignature, keyCertSign, cRLSign.
    extensions: [
      extension('2.5.29.19', sequence(bool(true)), true),
      keyUsage(Buffer.from([0x86]), 1),
      extension('2.5.29.14', octets(keyId)),
    ],
  });
  return { commonName, cert, key: pem(keys.privateKey), privateKey: keys.privateKey, keyId };
}

function keyIdentifier(publicKey: KeyObject): Buffer {
  const der = publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(der).digest().subarray(0, 20);
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
  return leaf(authority, { commonName: 'kube-apiserver' }, '1.3.6.1.5.5.7.3.1', {}, [alternativeNames(alternatives)]);
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
    extensions: [
      // digitalSignature.
      keyUsage(Buffer.from([0x80]), 7),
      extendedKeyUsage(usage),
      extension('2.5.29.35', sequence(implicit(0, authority.keyId))),
      ...more,
    ],
  });
  return { cert, key: pem(keys.privateKey) };
}
