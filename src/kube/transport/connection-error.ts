/** Errors for requests that got no response, each with a next step. */
import { NodepoolError } from '../../nodepool/errors.ts';
import { type Access, addressPlace } from '../auth/kubeconfig.ts';
import { MAX_ANSWER_LENGTH, MAX_PIECES } from '../wire.ts';
import { DeadlineError, StaleSocketError, TooLongError } from './exchange.ts';

/** Without ENOTFOUND: there, a name server has answered that the name does not exist. */
const TRANSIENT = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
]);

/**
 * Any error that is no NodepoolError counts as a failure of the connection.
 * @param isWrite the server may have done the write
 */
export function connectionError(error: unknown, access: Access, deadlineMs: number, isWrite: boolean): NodepoolError {
  if (error instanceof NodepoolError) return error;
  const problem = error instanceof StaleSocketError ? (error.cause ?? error) : error;
  const { message, next } = explain(problem as NodeJS.ErrnoException, access, deadlineMs, isWrite);
  const isTransient = problem instanceof DeadlineError || TRANSIENT.has((problem as NodeJS.ErrnoException).code ?? '');
  return new NodepoolError('cluster', message, next, { cause: error, isGeneral: true, isTransient });
}

function explain(
  error: NodeJS.ErrnoException,
  access: Access,
  deadlineMs: number,
  isWrite: boolean,
): { message: string; next: string } {
  const unknown = isWrite ? '; the change may or may not have been made' : '';
  const { cluster, source, isServerFlag } = access;
  const named = isServerFlag ? '--server' : source;
  const { server } = cluster;
  const { hostname } = new URL(server);
  const unreachable = `cannot reach the server ${server}`;
  const untrusted = `the certificate of the server ${server}`;
  if (error instanceof DeadlineError) {
    return {
      message: `the server ${server} gave no answer within ${deadlineMs / 1000} s`,
      next: `check that the cluster is up, or wait longer with --request-timeout${unknown}`,
    };
  }
  if (error instanceof TooLongError) {
    return {
      message: `the server ${server} sent an answer of more than ${MAX_ANSWER_LENGTH / 1024 ** 2} MiB or ${MAX_PIECES} pieces`,
      next: `check that ${named} names a Kubernetes API server, and what stands before it${unknown}`,
    };
  }
  switch (error.code) {
    case 'ECONNREFUSED':
      return {
        message: `${unreachable}: connection refused`,
        next: `check that it is running and that ${named} names the right address`,
      };
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return {
        message: `${unreachable}: the name ${hostname} cannot be resolved`,
        next: `check the server's name in ${named} and your network`,
      };
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return { message: `${unreachable}: no route to it, or it does not answer`, next: 'check your network or VPN' };
    case 'CERT_HAS_EXPIRED':
      return { message: `${untrusted} has expired`, next: "renew it on the server, or check this machine's clock" };
    case 'CERT_NOT_YET_VALID':
      return { message: `${untrusted} is not valid yet`, next: "check this machine's clock" };
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return {
        message: `${untrusted} is not for the name ${cluster.tlsServerName ?? hostname}`,
        next: access.isNameFlag
          ? 'give --tls-server-name a name that the certificate is for'
          : `correct the server's name, or set tls-server-name in ${source}`,
      };
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'CERT_SIGNATURE_FAILURE':
      return {
        message: `${untrusted} is signed by an unknown authority`,
        next: `check certificate-authority of cluster "${cluster.name}" in ${source}`,
      };
    case 'EPROTO':
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
      return {
        message: `${unreachable}: it does not speak TLS as expected (${firstLine(error)})`,
        next: `check ${addressPlace(access)}: whether it needs https:// or http://, and its port`,
      };
    case 'ECONNRESET':
    case 'EPIPE':
      return {
        message: `the server ${server} closed the connection before it answered`,
        next: `try again${unknown}`,
      };
    default:
      return { message: `${unreachable}: ${firstLine(error)}`, next: `check the server in ${named} and your network` };
  }
}

function firstLine(error: Error): string {
  return error.message.split('\n', 1)[0] ?? '';
}
