import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signAdHoc, signatureFault } from '../../scripts/package/signature.ts';

const PAGE = 4096;

/** A Mach-O file of five and a half pages and a signature of nothing, as a linker leaves it. */
function machO(): Buffer {
  const file = Buffer.alloc(PAGE * 5 + PAGE / 2 + 64);
  const end = file.length - 64;
  file.writeUInt32LE(0xfeedfacf, 0);
  file.writeUInt32LE(3, 16);
  let at = 32;
  for (const [name, offset, size] of [
    ['__TEXT', 0, PAGE * 5],
    ['__LINKEDIT', PAGE * 5, file.length - PAGE * 5],
  ] as const) {
    file.writeUInt32LE(0x19, at);
    file.writeUInt32LE(72, at + 4);
    file.write(name, at + 8);
    file.writeBigUInt64LE(BigInt(offset), at + 40);
    file.writeBigUInt64LE(BigInt(size), at + 48);
    at += 72;
  }
  file.writeUInt32LE(0x1d, at);
  file.writeUInt32LE(16, at + 4);
  file.writeUInt32LE(end, at + 8);
  file.writeUInt32LE(64, at + 12);
  file.fill(7, PAGE, end);
  return file;
}

test('reports a missing signature, and signing fixes it', () => {
  assert.equal(signatureFault(machO()), 'it is no signature');
  const signed = signAdHoc(machO());
  assert.equal(signatureFault(signed), undefined);
  // By its headers, the signature ends at the end of the file.
  const [linkedit, command] = [32 + 72, 32 + 2 * 72];
  assert.equal(signed.readUInt32LE(command + 8) + signed.readUInt32LE(command + 12), signed.length);
  assert.equal(Number(signed.readBigUInt64LE(linkedit + 40) + signed.readBigUInt64LE(linkedit + 48)), signed.length);
  assert.ok(signed.readBigUInt64LE(linkedit + 32) >= signed.readBigUInt64LE(linkedit + 48));
  assert.deepEqual(signAdHoc(signed), signed);
});

test('reports a changed byte in the first page and in the partial last page', () => {
  for (const [at, page] of [
    [200, 0],
    [PAGE * 5 + 100, 5],
  ] as const) {
    const signed = signAdHoc(machO());
    signed.writeUInt8(signed.readUInt8(at) ^ 1, at);
    assert.equal(signatureFault(signed), `page ${page} of 6 has another hash`);
  }
});

test('reports a signature that ends before the code', () => {
  const signed = signAdHoc(machO());
  const end = signed.readUInt32LE(32 + 2 * 72 + 8);
  // The code directory's codeLimit, behind the 20 bytes around it.
  signed.writeUInt32BE(PAGE, end + 20 + 32);
  assert.equal(signatureFault(signed), `it ends at ${PAGE}, and the code at ${end}`);
});

test('distinguishes Mach-O from other files', () => {
  assert.throws(() => signatureFault(Buffer.alloc(64)), /no 64-bit Mach-O/);
});
