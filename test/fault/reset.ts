import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/**
 * Closes a connection with RST. Node can reset neither a closing connection, which it would leak, nor one with
 * TLS.
 */
export function reset(socket: Socket | null): void {
  if (socket?.writableEnded || socket instanceof TLSSocket) socket.destroy();
  else socket?.resetAndDestroy();
}
