/** Aborted requests of node:http(s). */
import type { ClientRequest, IncomingMessage } from 'node:http';

/**
 * Destroys the request and its response when the signal is aborted. Not by the `signal` option of http.request(): after
 * the end of a response, Bun then destroys a kept-alive socket, and exits.
 */
export function destroyOnAbort(request: ClientRequest, signal: AbortSignal): void {
  let response: IncomingMessage | undefined;
  const abort = () => {
    if (!response?.complete) request.destroy(new Error('given up'));
  };
  request.once('response', answer => {
    response = answer;
  });
  request.once('close', () => signal.removeEventListener('abort', abort));
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort);
}

/** Whether the reason is AbortSignal.timeout(): a watch sets a timeout past the end that it asks the server for. */
export function isTimeout({ reason }: AbortSignal): boolean {
  return reason instanceof DOMException && reason.name === 'TimeoutError';
}
