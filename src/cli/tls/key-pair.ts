/** The certificate of a server: from files, which are read again as they are renewed, or a self-signed one. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NodepoolError } from '../../nodepool/errors.ts';
import { type KeyPair, selfSigned } from './x509.ts';

/** The names in a Secret of type kubernetes.io/tls. */
const CERT = 'tls.crt';
const KEY = 'tls.key';

/**
 * @param folder with tls.crt and tls.key; without one, the certificate is self-signed
 * @throws NodepoolError that names the flag and the file
 */
export async function keyPairOf(folder: string | undefined, flag: string): Promise<KeyPair> {
  if (folder === undefined) return selfSigned();
  const read = (name: string) =>
    readFile(join(folder, name), 'utf8').catch((cause: NodeJS.ErrnoException) => {
      const problem = `${flag}: cannot read ${join(folder, name)} (${cause.code})`;
      throw new NodepoolError('input', problem, `give a folder with ${CERT} and ${KEY}`, { cause });
    });
  const pair = { cert: await read(CERT), key: await read(KEY) };
  const isPair = matches(pair);
  if (isPair) return pair;
  const problem = `${flag}: ${KEY} is not the private key of ${CERT} in ${folder}`;
  throw new NodepoolError('input', problem, 'write both files again, in PEM');
}

function matches({ cert, key }: KeyPair): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}
