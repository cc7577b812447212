/** Decompression of a gzip body on another thread, while this one decodes. */
import { type Readable, Transform } from 'node:stream';

/** Bytes that go to the thread at once: the server sends about 1 kB at a time, and each way there and back takes time. */
const JOINED = 32_768;
/** Bytes that come back at once. */
const PIECE = 65_536;

/** @param onChunk gets the decompressed pieces, in order, before the stream's `end` */
export function gunzip(body: Readable, onChunk: (chunk: Buffer) => void): Readable {
  // Loaded here: it takes a millisecond, and small responses are not compressed.
  const { createGunzip } = process.getBuiltinModule('node:zlib');
  const content = body.pipe(joiner()).pipe(createGunzip({ chunkSize: PIECE }));
  // The next piece is decompressed from when this returns.
  return content.on('data', (chunk: Buffer) => process.nextTick(onChunk, chunk));
}

function joiner(): Transform {
  let pieces: Buffer[] = [];
  // The first piece does not wait: it has the token of the next page, and shows whether the body is gzip.
  let length = JOINED;
  const take = () => {
    const joined = Buffer.concat(pieces);
    [pieces, length] = [[], 0];
    return joined;
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      pieces.push(chunk);
      length += chunk.length;
      if (length < JOINED) done();
      else done(null, take());
    },
    flush: done => done(null, take()),
  });
}
