/** Programs measured in turn and compared with one of them, the peer. */
import { run } from '../cluster/run.ts';
import { measure, type Sample } from './measure.ts';
import { ratios } from './statistics.ts';

/** kube-capacity takes minutes for 50,000 pods. */
const WARM_UP_MS = 600_000;

export type Command = [string, ...string[]];

/** The limit. */
export interface Limits {
  /** Its time, as a multiple of the peer's. */
  ratio?: number;
  /** Its memory, in MB. */
  rss?: number;
}

export interface Contender {
  name: string;
  limits: Limits;
  /** Runs before the measurement: fills caches and checks the output. */
  warmUp?(): Promise<void>;
  run(): Promise<Sample>;
}

export interface Race {
  title: string;
  peer: Contender;
  others: Contender[];
}

export interface Result {
  name: string;
  limits: Limits;
  samples: Sample[];
  /** Ratios of its time to the peer's by round; the result is their median. */
  ratios: number[];
}

export interface RaceResult {
  title: string;
  peer: Result;
  others: Result[];
}

/** A command that exits with 0 and whose output matches `says`. */
export function contender(
  name: string,
  command: Command,
  env: Record<string, string>,
  says: RegExp,
  limits: Limits = {},
): Contender {
  const [program, ...args] = command;
  return {
    name,
    limits,
    async warmUp() {
      const { code, stdout, stderr } = await run(program, args, { env, timeoutMs: WARM_UP_MS });
      if (code !== 0 || !says.test(stdout)) throw new Error(`${name}: ${code}\n${stdout}${stderr}`);
    },
    run: () => measure({ command, env }),
  };
}

/** One run of each per round; each round starts with the next contender. */
export async function runRace({ title, peer, others }: Race, rounds: number): Promise<RaceResult> {
  const all = [peer, ...others].map(contender => ({ contender, samples: [] as Sample[] }));
  for (const { contender } of all) await contender.warmUp?.();
  for (let round = 0; round < rounds; round++) {
    const first = round % all.length;
    for (const { contender, samples } of [...all.slice(first), ...all.slice(0, first)]) {
      samples.push(await contender.run());
    }
  }
  const [peers = [], ...rest] = all.map(({ samples }) => samples);
  return {
    title,
    peer: resultOf(peer, peers, peers),
    others: others.map((other, index) => resultOf(other, rest[index] ?? [], peers)),
  };
}

/** Ratios use the rounds that both ran. */
export function resultOf({ name, limits }: Contender, samples: Sample[], peers: Sample[]): Result {
  const seconds = (all: Sample[]) => all.map(sample => sample.seconds);
  return { name, limits, samples, ratios: ratios(seconds(samples), seconds(peers)) };
}
