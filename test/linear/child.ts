/** `node child.ts`: prints a line for each parser and regular expression whose time grows faster than its text. */

import { ROOT } from '../../scripts/root.ts';
import { NodepoolError } from '../../src/nodepool/errors.ts';
import { QuantityError } from '../../src/nodepool/quantity/quantity.ts';
import { TooLargeError } from '../../src/nodepool/spec/text-limits.ts';
import { JsonPathError } from '../../src/print/jsonpath/template.ts';
import { attacksOn, regexesIn } from './regexes.ts';
import { CANDIDATES } from './texts.ts';

const TYPED = [NodepoolError, QuantityError, JsonPathError, TooLargeError];
/** The length of the short text, and how much longer the long one is. */
const [SHORT, TIMES] = [4_000, 8];
/** Three times the growth of a linear parser, a third of that of a quadratic one. */
const MAX_GROWTH = 24;
const TRIES = 4;
/** Shorter times cannot be measured precisely. */
const SOON_MS = 40;
/** A linear regular expression takes 0.1 ms for so many characters, a quadratic one 50 ms. */
const [REGEX_LENGTH, REGEX_MS] = [8_192, 10];

/** Not linear, but applied only to bounded texts. */
const BOUNDED: Readonly<Record<string, string>> = {
  '[^a-z0-9]+$': 'at most 253 characters of the name of an object',
  '(\\d+(?:\\.\\d+)?)(ms|s|m|h)': 'a text that consists of such parts',
};

/** The shortest of three, in CPU milliseconds of this thread, as others run on the machine; one is enough if it is short. */
function time(run: () => unknown, enoughMs = 0): number {
  let best = Number.POSITIVE_INFINITY;
  for (let at = 0; at < 3 && best > enoughMs; at++) {
    const start = process.threadCpuUsage();
    run();
    const { user, system } = process.threadCpuUsage(start);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}

for (const { name, run, texts } of CANDIDATES) {
  for (const [what, text] of Object.entries(texts)) {
    // The last line names what hangs.
    console.error(`${name}, ${what}`);
    const [short, long] = [text(SHORT), text(SHORT * TIMES)];
    const tried = (input: string) => () => {
      try {
        run(input);
      } catch (error) {
        if (TYPED.some(type => error instanceof type) || (error as Error).name === 'YAMLException') return;
        console.log(`${name}, ${what}: threw ${error}`);
      }
    };
    // Warm-up.
    tried(short)();
    // On a busy machine a linear parser passes sometimes, a quadratic one never.
    for (let left = TRIES; ; left--) {
      const many = time(tried(long), SOON_MS);
      if (many <= SOON_MS) break;
      const few = time(tried(short));
      if (many <= few * MAX_GROWTH) break;
      if (left > 1) continue;
      console.log(`${name}, ${what}: ${few.toFixed(1)} ms, and ${many.toFixed(1)} ms for ${TIMES} times as much`);
      break;
    }
  }
}

const regexes = regexesIn(ROOT);
for (const { file, regex } of regexes) {
  if (regex.source in BOUNDED) continue;
  console.error(`${file}: ${regex}`);
  for (const text of attacksOn(regex, REGEX_LENGTH)) {
    const apply = () => (regex.global ? text.replace(regex, '') : regex.exec(text));
    const ms = time(apply, REGEX_MS);
    if (ms > REGEX_MS) {
      console.log(`${file}: ${regex} takes ${ms.toFixed(1)} ms for ${JSON.stringify(text.slice(0, 20))}…`);
      break;
    }
  }
}
console.log(`${regexes.length} regular expressions`);
