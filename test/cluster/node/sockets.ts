import type { Socket } from 'node:net';

/** Forwards data between two sockets until one of them ends. */
export function joinSockets(one: Socket, other: Socket): void {
  one.on('error', () => other.destroy()).on('close', () => other.destroy());
  other.on('error', () => one.destroy()).on('close', () => one.destroy());
  one.pipe(other).pipe(one);
}
