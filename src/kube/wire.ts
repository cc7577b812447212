/** client-node's types with Date replaced by string. Only types: importing the generated classes costs 400 ms. */
export type Wire<T> = T extends Date
  ? string
  : T extends (infer Item)[]
    ? Wire<Item>[]
    : T extends object
      ? { [Member in keyof T]: Wire<T[Member]> }
      : T;

/** Limit of one object, in bytes or characters: etcd stores at most 1.5 MiB. Bounds memory against faulty servers. */
export const MAX_OBJECT_LENGTH = 16 * 1024 * 1024;
/** Limit of a response body that is kept whole, uncompressed: a page of 500 pools of 128 KiB each. */
export const MAX_ANSWER_LENGTH = 64 * 1024 * 1024;
/** Limit of the body of an error response: a Status has a few hundred bytes. */
export const MAX_REFUSAL_LENGTH = 1024 * 1024;
/** Maximum number of chunks of one body: chunks of one byte would take a hundred times its memory. */
export const MAX_PIECES = 65_536;
