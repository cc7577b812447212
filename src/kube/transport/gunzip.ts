/** Decompression of a gzip body on another thread, while this one decodes. */
import { type Readable, Transform } from 'node:stream';

/** Bytes that go to the thread at once: the server sends about 1 kB at a time, and each way there and back takes time. */
const INPUT_BYTES = 32_768;
/** Bytes that come back at once. */
const OUTPUT_BYTES = 65_536;

/**
 * @param onChunk gets the decompressed chunks in order, all before the returned stream's `end`, and none after an error of
 * the body
 */
export function gunzip(body: Readable, onChunk: (chunk: Buffer) => void): Readable {
  // Loaded here: it takes a millisecond, and small responses are not compressed.
  const { createGunzip } = process.getBuiltinModule('node:zlib');
  const content = body.pipe(joiner()).pipe(createGunzip({ chunkSize: OUTPUT_BYTES }));
  // A pipe passes no errors on.
  body.on('error', () => content.destroy());
  // The thread gets its next bytes when this listener returns: by the tick, they are decompressed while the chunk is decoded.
  // The stream ends in a tick, too, and ticks run in order.
  return content.on('data', (chunk: Buffer) =>
    process.nextTick(() => {
      if (!content.destroyed) onChunk(chunk);
    }),
  );
}

/** Joins as many bytes as came before, so that the first items and the token of the next page are not held up. */
function joiner(): Transform {
  let pieces: Buffer[] = [];
  let [sent, length] = [0, 0];
  const take = () => {
    const joined = Buffer.concat(pieces);
    sent += length;
    [pieces, length] = [[], 0];
    return joined;
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      pieces.push(chunk);
      length += chunk.length;
      if (length < Math.min(sent, INPUT_BYTES)) done();
      else done(null, take());
    },
    flush: done => done(null, take()),
  });
}
