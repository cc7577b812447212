/** Reads the dynamic section of a 64-bit little-endian ELF file. */

const [DYNAMIC, INTERPRETER] = [2, 3];
const LOADED = 1;
const [NEEDED, STRINGS] = [1n, 5n];

/** The shared libraries that the program names, and its loader. */
export function neededBy(file: Buffer): { libraries: string[]; loader: string } {
  const at = Number(file.readBigUInt64LE(32));
  const [size, count] = [file.readUInt16LE(54), file.readUInt16LE(56)];
  const headers = Array.from({ length: count }, (_, index) => {
    const header = file.subarray(at + index * size);
    const [offset, address, bytes] = [8, 16, 32].map(place => Number(header.readBigUInt64LE(place)));
    return { type: header.readUInt32LE(0), offset: offset ?? 0, address: address ?? 0, bytes: bytes ?? 0 };
  });
  const offsetOf = (address: number) => {
    const segment = headers.find(
      one => one.type === LOADED && address >= one.address && address < one.address + one.bytes,
    );
    if (segment === undefined) throw new Error(`no segment has the address ${address}`);
    return address - segment.address + segment.offset;
  };
  const sectionOf = (type: number) => {
    const header = headers.find(one => one.type === type);
    if (header === undefined) throw new Error(`no program header of type ${type}`);
    return file.subarray(header.offset, header.offset + header.bytes);
  };
  const dynamic = sectionOf(DYNAMIC);
  const entries = Array.from({ length: dynamic.length / 16 }, (_, index) => ({
    tag: dynamic.readBigInt64LE(index * 16),
    value: Number(dynamic.readBigUInt64LE(index * 16 + 8)),
  }));
  const strings = offsetOf(entries.find(({ tag }) => tag === STRINGS)?.value ?? 0);
  const text = (start: number) => file.toString('latin1', start, file.indexOf(0, start));
  return {
    libraries: entries.filter(({ tag }) => tag === NEEDED).map(({ value }) => text(strings + value)),
    loader: sectionOf(INTERPRETER).toString('latin1').replace(/\0$/, ''),
  };
}
