/**
 * The API's objects as they travel: client-node's own types with its Dates turned back into the strings that JSON has.
 * Types of them only: importing the generated classes costs 400 ms, and their serializer drops fields it does not know.
 */
export type Wire<T> = T extends Date
  ? string
  : T extends (infer Item)[]
    ? Wire<Item>[]
    : T extends object
      ? { [Member in keyof T]: Wire<T[Member]> }
      : T;

/** An object has 1.5 MiB at most in etcd; so many bytes or characters of one bound memory against anything else. */
export const LONGEST_OBJECT = 16 * 1024 * 1024;
/** Of an answer that is kept whole, unpacked: a page of 500 pools of 128 KiB each. */
export const LONGEST_ANSWER = 64 * 1024 * 1024;
/** Of one that refuses: a Status has a few hundred bytes. */
export const LONGEST_REFUSAL = 1024 * 1024;
/** In which one comes: of a byte each they would take a hundred times its memory. A kibibyte each of the longest answer. */
export const MOST_PIECES = 65_536;
