/** Certificates and keys of a cluster and a user, and their TLS context. */
import { closeSync, readSync } from 'node:fs';
import { createSecureContext, getCACertificates, type SecureContext, type SecureContextOptions } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { AuthInfo } from './auth-info.ts';
import type { ClusterAccess } from './kubeconfig.ts';
import { openRegularFile, readProblem } from './kubeconfig-file.ts';

/** Limit of a file: a bundle of all public authorities has 0.2 MiB. */
const MAX_BYTES = 4 * 1024 ** 2;

export interface Tls {
  material: Pick<SecureContextOptions, 'ca' | 'cert' | 'key'>;
  context: SecureContext | undefined;
}

/** Returns `last` if the material is unchanged. Throws NodepoolError (input) for invalid material. */
export function tlsOf(
  { cluster, user, source }: ClusterAccess,
  { ca, cert, key }: AuthInfo & { ca: Buffer | undefined },
  last: Tls | undefined,
): Tls {
  if ((cert === undefined) !== (key === undefined)) {
    const [has, lacks] =
      cert === undefined ? ['client-key', 'client-certificate'] : ['client-certificate', 'client-key'];
    throw new NodepoolError(
      'input',
      `user "${user.name}" in ${source} has a ${has} but no ${lacks}`,
      `add the ${lacks}`,
    );
  }
  const all = { ca, cert, key };
  if (last !== undefined && isDeepStrictEqual(all, last.material)) return last;
  try {
    return {
      material: all,
      context: cluster.server.startsWith('http:')
        ? undefined
        : createSecureContext({ ...all, ca: ca ?? publicAuthorities() }),
    };
  } catch (error) {
    throw new NodepoolError(
      'input',
      `the certificates of cluster "${cluster.name}" and user "${user.name}" in ${source} cannot be used: ${(error as Error).message}`,
      'check that the files are PEM, and that key and certificate match',
      { cause: error },
    );
  }
}

/** notAfter of a PEM certificate. */
export function endOf(certificate: string | Buffer | undefined): Date | undefined {
  if (certificate === undefined) return undefined;
  // Loaded here, as it takes a millisecond and is only needed after credentials were refused.
  const { X509Certificate } = process.getBuiltinModule('node:crypto');
  return new X509Certificate(certificate).validToDate;
}

/** The content of the cluster's certificate-authority. */
export function caOf({ name, caData, caFile }: ClusterAccess['cluster']): Buffer | undefined {
  return readMaterial(caData, caFile, `certificate-authority of cluster "${name}"`);
}

/** Error codes of node:tls: the certificate is not signed by a known authority. */
export const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_SIGNATURE_FAILURE',
]);

/** As Go: the system's authorities, and NODE_EXTRA_CA_CERTS. If there are none, Node's. */
export function publicAuthorities(): string[] {
  const systemCertificates = new Set([...getCACertificates('system'), ...getCACertificates('extra')]);
  return systemCertificates.size > 0 ? [...systemCertificates] : getCACertificates('default');
}

/** As client-go, data takes precedence over a file. */
export function readMaterial(data: string | undefined, file: string | undefined, what: string): Buffer | undefined {
  if (data !== undefined) return fromBase64(data, what);
  return file === undefined ? undefined : Buffer.from(readText(file, what));
}

/** As Go, rejects invalid base64; Node would ignore the error. */
function fromBase64(data: string, what: string): Buffer {
  const text = data.replace(/[\r\n]/g, '');
  if (text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)) return Buffer.from(text, 'base64');
  const problem = `the ${what} is not base64: check the -data field`;
  throw new NodepoolError('input', problem, 'use one line, as `base64 -w0 FILE` prints it');
}

/** Throws NodepoolError (input) that names the file as `what`. */
export function readText(file: string, what: string): string {
  try {
    return readUpTo(file, MAX_BYTES);
  } catch (error) {
    throw new NodepoolError('input', `cannot read the ${what}, ${file}: ${readProblem(error)}`, 'correct the path', {
      cause: error,
    });
  }
}

/** Rejects FIFOs, which kubectl reads: the path may come from an untrusted kubeconfig, and is read several times. */
function readUpTo(file: string, most: number): string {
  const { descriptor } = openRegularFile(file);
  try {
    const bytes = Buffer.alloc(most + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length <= most; length += read) {
      read = readSync(descriptor, bytes, length, bytes.length - length, null);
    }
    if (length > most) throw new Error(`it has more than ${most / 1024 ** 2} MiB`);
    return bytes.toString('utf8', 0, length);
  } finally {
    closeSync(descriptor);
  }
}
