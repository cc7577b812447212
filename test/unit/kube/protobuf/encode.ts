/** Encodes messages as the API server does, for tests of the decoders. */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** Values by field number; repeated fields are arrays. */
export type Fields = Record<number, string | number | Uint8Array | (string | Uint8Array)[]>;

export function encode(fields: Fields): Uint8Array {
  const writer = new BinaryWriter();
  for (const [number, value] of Object.entries(fields)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (typeof one === 'number') writer.tag(Number(number), WireType.Varint).int64(one);
      else if (typeof one === 'string') writer.tag(Number(number), WireType.LengthDelimited).string(one);
      else writer.tag(Number(number), WireType.LengthDelimited).bytes(one);
    }
  }
  return writer.finish();
}

/** A single object: the magic bytes, its kind, its message. */
export function envelope(kind: string, raw: Uint8Array, apiVersion = 'v1'): Buffer {
  const unknown = encode({ 1: encode({ 1: apiVersion, 2: kind }), 2: raw, 3: '', 4: '' });
  return Buffer.concat([Buffer.from('k8s\0'), unknown]);
}

/** A node of this name with these taints, each a message. */
export function node(name: string, taints: Uint8Array[] = [], more: Fields = {}): Uint8Array {
  const labels = [encode({ 1: 'a.b/c', 2: 'käse' }), encode({ 1: 'empty' })];
  const meta = encode({ 1: name, 2: '', 3: '', 5: `uid-${name}`, 6: '7', 8: encode({ 1: 1_700_000_000 }), 11: labels });
  return encode({ 1: meta, 2: encode({ 1: '10.0.0.0/24', 4: 1, 5: taints }), ...more });
}

export function frame(type: string, object: Uint8Array): Buffer {
  const event = encode({ 1: type, 2: encode({ 1: object }) });
  const head = Buffer.alloc(4);
  head.writeUInt32BE(event.length);
  return Buffer.concat([head, event]);
}

export function nodeList(nodes: Uint8Array[], token = ''): Buffer {
  return envelope('NodeList', encode({ 1: encode({ 1: '', 2: '42', 3: token }), 2: nodes }));
}
