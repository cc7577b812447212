/**
 * The ad hoc signature of a macOS executable: the SHA-256 of each page. macOS kills a program whose pages do not match.
 * It proves integrity, not origin. Format: mach-o/loader.h and kern/cs_blobs.h of Apple's xnu sources.
 */
import { createHash } from 'node:crypto';

const LC_SEGMENT_64 = 0x19;
const LC_CODE_SIGNATURE = 0x1d;
const HEADER_BYTES = 32;

const SUPER_BLOB = 0xfade0cc0;
const CODE_DIRECTORY = 0xfade0c02;
/** Magic, length, count; then type and offset of the only blob. */
const SUPER_BLOB_BYTES = 20;
/** Of a code directory of version 0x20400. */
const DIRECTORY_BYTES = 88;
const ADHOC_LINKER_SIGNED = 0x20002;
const SHA256 = { type: 2, bytes: 32 };
const PAGE_BITS = 12;
const PAGE = 1 << PAGE_BITS;
const IDENTIFIER = 'kubectl-nodepool\0';
/** Segments in memory are aligned to this; Apple silicon has the larger pages. */
const MEMORY_PAGE = 0x4000n;

interface Layout {
  /** Offset of the load command. */
  signatureCommand: number;
  linkedit: number;
  text: { offset: bigint; size: bigint };
  /** Offset of the signature: everything before it is hashed. */
  end: number;
}

/** The defect of a 64-bit Mach-O file's signature; undefined when valid. Throws for other or unsigned files. */
export function signatureFault(file: Buffer): string | undefined {
  const { end } = layoutOf(file);
  const blob = file.subarray(end);
  if (blob.readUInt32BE(0) !== SUPER_BLOB) return 'it is no signature';
  // The first blob is the code directory.
  const directory = blob.subarray(blob.readUInt32BE(16));
  if (directory.readUInt32BE(0) !== CODE_DIRECTORY) return 'it has no code directory';
  if (directory.readUInt32BE(32) !== end) return `it ends at ${directory.readUInt32BE(32)}, and the code at ${end}`;
  const hashes = directory.subarray(directory.readUInt32BE(16));
  const wanted = pageHashes(file.subarray(0, end));
  const wrong = wanted.findIndex(
    (hash, page) => !hash.equals(hashes.subarray(page * hash.length, (page + 1) * hash.length)),
  );
  return wrong === -1 ? undefined : `page ${wrong} of ${wanted.length} has another hash`;
}

/** Replaces the signature of the file by a valid one. */
export function signAdHoc(unsigned: Buffer): Buffer {
  const { end, signatureCommand, linkedit, text } = layoutOf(unsigned);
  const code = Buffer.from(unsigned.subarray(0, end));
  const pages = Math.ceil(end / PAGE);
  const directoryBytes = DIRECTORY_BYTES + IDENTIFIER.length + pages * SHA256.bytes;
  const signatureBytes = SUPER_BLOB_BYTES + directoryBytes;
  code.writeUInt32LE(signatureBytes, signatureCommand + 12);
  const linkeditBytes = BigInt(end + signatureBytes) - code.readBigUInt64LE(linkedit + 40);
  code.writeBigUInt64LE(linkeditBytes, linkedit + 48);
  code.writeBigUInt64LE(((linkeditBytes + MEMORY_PAGE - 1n) / MEMORY_PAGE) * MEMORY_PAGE, linkedit + 32);

  const blob = words(SUPER_BLOB, signatureBytes, 1, 0, SUPER_BLOB_BYTES);
  const directory = Buffer.alloc(DIRECTORY_BYTES);
  const hashOffset = DIRECTORY_BYTES + IDENTIFIER.length;
  words(CODE_DIRECTORY, directoryBytes, 0x20400, ADHOC_LINKER_SIGNED, hashOffset, DIRECTORY_BYTES, 0, pages, end).copy(
    directory,
  );
  directory.set([SHA256.bytes, SHA256.type, 0, PAGE_BITS], 36);
  directory.writeBigUInt64BE(text.offset, 64);
  directory.writeBigUInt64BE(text.size, 72);
  // An executable, not a library.
  directory.writeBigUInt64BE(1n, 80);
  return Buffer.concat([code, blob, directory, Buffer.from(IDENTIFIER), ...pageHashes(code)]);
}

function layoutOf(file: Buffer): Layout {
  if (file.readUInt32LE(0) !== 0xfeedfacf) throw new Error('this is no 64-bit Mach-O file');
  const found: Partial<Layout> = {};
  let at = HEADER_BYTES;
  for (let left = file.readUInt32LE(16); left > 0; left--) {
    const command = file.readUInt32LE(at);
    if (command === LC_CODE_SIGNATURE) {
      found.signatureCommand = at;
      found.end = file.readUInt32LE(at + 8);
    }
    const segment = command === LC_SEGMENT_64 ? file.toString('latin1', at + 8, at + 24).replace(/\0.*/s, '') : '';
    if (segment === '__LINKEDIT') found.linkedit = at;
    if (segment === '__TEXT') {
      found.text = { offset: file.readBigUInt64LE(at + 40), size: file.readBigUInt64LE(at + 48) };
    }
    at += file.readUInt32LE(at + 4);
  }
  const { signatureCommand, end, linkedit, text } = found;
  if (signatureCommand === undefined || end === undefined || linkedit === undefined || text === undefined) {
    throw new Error('this Mach-O file has no place for a signature');
  }
  return { signatureCommand, end, linkedit, text };
}

/** The last page may be shorter. */
function pageHashes(code: Buffer): Buffer[] {
  return Array.from({ length: Math.ceil(code.length / PAGE) }, (_, page) =>
    createHash('sha256')
      .update(code.subarray(page * PAGE, (page + 1) * PAGE))
      .digest(),
  );
}

function words(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, at) => {
    bytes.writeUInt32BE(value, at * 4);
  });
  return bytes;
}
