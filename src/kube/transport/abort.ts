import type { ClientRequest, IncomingMessage } from 'node:http';

/**
 * Ends the request, and the reading of its answer, when the signal is aborted. In place of the option of http.request():
 * when the answer is there already, Bun lets that destroy a socket that is kept for others, and ends the process.
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

/** Whether it was aborted because the time for it was over: more than time enough, where it is a watch. */
export function isTimeout({ reason }: AbortSignal): boolean {
  return reason instanceof DOMException && reason.name === 'TimeoutError';
}
