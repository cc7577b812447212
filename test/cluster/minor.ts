/** The version of Kubernetes that the tests run on: `npm run test:versions` runs them on older ones too. */

import { VERSIONS } from './programs.ts';
import { raw } from './raw.ts';

const version = process.env.NODEPOOL_TEST_MINOR ?? VERSIONS['kube-apiserver'].slice(1);
/** Of Kubernetes 1. */
export const MINOR = Number(version.split('.')[1]);

const { NODEPOOL_TEST_FEATURE_GATES: GATES } = process.env;
/** The server's feature gate WatchList, which is on by default in 1.32 and from 1.34 on. */
export const HAS_WATCH_LIST = GATES === undefined ? MINOR === 32 || MINOR >= 34 : GATES.includes('WatchList=true');

/** For `skip` of a test: the reason, on versions before 1.`minor`. */
export function before(minor: number, reason: string): string | false {
  return MINOR < minor && `before Kubernetes 1.${minor}: ${reason}`;
}

/** As `v1.36.3`. */
export async function serverVersion(cluster: Parameters<typeof raw>[0]): Promise<string> {
  return ((await raw(cluster).expect('GET', '/version')) as { gitVersion: string }).gitVersion;
}
