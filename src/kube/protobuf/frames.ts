/** The frames of a watch in protobuf: each is a length in four bytes, and a message of so many. */
import type { IncomingMessage } from 'node:http';
import { LONGEST_OBJECT } from '../wire.ts';
import { Chunks } from './chunks.ts';

const HEAD_BYTES = 4;

/** Resolves at the end of the answer; throws when it breaks off, inside a frame or outside, or a frame is too long. */
export async function readFrames(response: IncomingMessage, onFrame: (frame: Buffer) => void): Promise<void> {
  const chunks = new Chunks();
  for await (const chunk of response as AsyncIterable<Buffer>) {
    let bytes = chunks.push(chunk);
    if (bytes === undefined) continue;
    let needed = HEAD_BYTES;
    while (bytes.length >= HEAD_BYTES) {
      const length = bytes.readUInt32BE(0);
      if (length > LONGEST_OBJECT) throw new Error(`a frame has more than ${LONGEST_OBJECT} bytes`);
      needed = HEAD_BYTES + length;
      if (bytes.length < needed) break;
      onFrame(bytes.subarray(HEAD_BYTES, needed));
      bytes = bytes.subarray(needed);
      needed = HEAD_BYTES;
    }
    chunks.keep(bytes, needed);
  }
  if (chunks.rest().length > 0) throw new Error('the answer broke off inside a frame');
}
