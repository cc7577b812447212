/** The frames of a watch in protobuf: a length in four bytes, then the message. */
import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import { countWatched } from '../../controller/collect.ts';
import { MAX_OBJECT_LENGTH } from '../wire.ts';
import { Chunks, type Used } from './list-reader.ts';

const HEAD_BYTES = 4;

/**
 * Resolves at the end of the response. Throws if the connection breaks, the last frame is cut off, or a frame is too
 * long.
 */
export async function readFrames(response: IncomingMessage, onFrame: (frame: Buffer) => void): Promise<void> {
  const chunks = new Chunks((bytes): Used => {
    let at = 0;
    while (bytes.length >= at + HEAD_BYTES) {
      const length = bytes.readUInt32BE(at);
      if (length > MAX_OBJECT_LENGTH) throw new Error(`a frame has more than ${MAX_OBJECT_LENGTH} bytes`);
      const end = at + HEAD_BYTES + length;
      if (bytes.length < end) return { used: at, needed: end - at };
      onFrame(bytes.subarray(at + HEAD_BYTES, end));
      at = end;
    }
    return { used: at, needed: HEAD_BYTES };
  });
  // An iterator would let each event wait for two more turns.
  response.on('data', (chunk: Buffer) => {
    try {
      chunks.push(chunk);
      countWatched(chunk.length);
    } catch (error) {
      response.destroy(error as Error);
    }
  });
  await finished(response);
  if (chunks.rest().length > 0) throw new Error('the answer broke off inside a frame');
}
