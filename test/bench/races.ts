/** What is measured against kubectl. */
import { buildPackage } from '../../scripts/build.ts';
import { buildExecutable } from '../../scripts/package/executable.ts';
import { hostTarget } from '../../scripts/package/targets.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import { productCommand } from '../cluster/product.ts';
import { type Command, type Contender, contender, type Limits, type Race } from './race.ts';

export interface Programs {
  kubectl: Command;
  executable: Command;
  /** An older one, which is measured without limits; undefined: not measured. */
  old?: Command | undefined;
  /** The program of the npm package, on Node; undefined: not measured. */
  npm?: Command | undefined;
}

export async function buildPrograms(): Promise<Programs & { npm: Command }> {
  const { kubectl } = await ensureBinaries(['kubectl']);
  await buildPackage();
  return { kubectl: [kubectl], executable: [await buildExecutable(hostTarget())], npm: productCommand('bundle') };
}

type Environment = Record<string, string>;

/** The forms of the program. */
export const [EXECUTABLE, OLD_EXECUTABLE] = ['executable', 'old executable'];
const NPM = 'npm package';

/** What one form of the program is measured by. */
export interface Row {
  args: string[];
  says: RegExp;
  limits?: Limits;
  /** Else it is the arguments. */
  name?: string;
}

/** Each by the executable, and by the older one, if there is one. */
export function ofExecutables({ executable, old }: Programs, env: Environment, rows: Row[]): Contender[] {
  return [...ofProgram(EXECUTABLE, executable, env, rows), ...ofProgram(OLD_EXECUTABLE, old, env, within({}, rows))];
}

function ofProgram(form: string, program: Command | undefined, env: Environment, rows: Row[]): Contender[] {
  if (program === undefined) return [];
  return rows.map(({ args, says, limits, name = args.join(' ') }) =>
    contender(`${form}: ${name}`, [...program, ...args], env, says, limits),
  );
}

function within(limits: Limits, rows: Row[]): Row[] {
  return rows.map(row => ({ ...row, limits }));
}

/** Sends no request: pool names come from the cache that the warm-up filled. */
export function startUp(programs: Programs, env: Environment): Race {
  const version = { args: ['version', '--client'], says: /^Client Version: / };
  const pool = { name: 'completion of a pool', args: ['__complete', 'get', 'pool-1'], says: /^pool-1\n/ };
  const command = { name: 'completion of a command', args: ['__complete', 'de'], says: /^describe\t/ };
  const usage = /^USAGE$/m;
  const rows = [version, { args: ['--help'], says: usage }, { args: ['get', '--help'], says: usage }, command, pool];
  return {
    title: 'Start-up',
    peer: contender('kubectl version --client', [...programs.kubectl, ...version.args], env, version.says),
    others: [
      ...ofExecutables(programs, env, within({ ratio: 0.5 }, rows)),
      ...ofProgram(NPM, programs.npm, env, within({ ratio: 3 }, [version, pool])),
    ],
  };
}

/** @param held whether the limits apply to the size of the cluster */
export function readPools(programs: Programs, env: Environment, held: boolean): Race {
  const says = /^NAME +STATUS .*\npool-0 /;
  const get = (ratio: number): Row => ({ args: ['get', '--cached'], says, limits: held ? { ratio } : {} });
  return {
    title: 'The table of pools',
    peer: contender('kubectl get nodepools', [...programs.kubectl, 'get', 'nodepools'], env, says),
    others: [...ofExecutables(programs, env, [get(0.6)]), ...ofProgram(NPM, programs.npm, env, [get(3)])],
  };
}

/** The commands that read all nodes and are compared with curl, too. */
export function readingNodes(limits: Limits): Row[] {
  return [
    { args: ['reconcile'], says: /^pool-0 +Ready .*\(unchanged\)/, limits },
    { args: ['diff'], says: /^$/, limits },
    { args: ['get'], says: /^NAME +STATUS .*\npool-0 +Ready /, limits },
    { args: ['nodes'], says: /^NAME +STATUS +POOL .*\nnode-/, limits },
    { args: ['top', '--no-pods'], says: /^POOL +NODES +CPU +MEM +PODS\npool-0 +(\d+)\/\1 +\d/, limits },
  ];
}

/** Reads all nodes and writes nothing. @param ratio the limit */
export function readNodes(programs: Programs, env: Environment, held: boolean, ratio = 0.45): Race {
  const rows = readingNodes(held ? { ratio, rss: 100 } : {});
  return {
    title: 'Every node read, nothing to do',
    peer: contender('kubectl get nodes', [...programs.kubectl, 'get', 'nodes'], env, /^NAME +STATUS .*\nnode-/),
    others: [
      ...ofExecutables(programs, env, [
        ...rows,
        { args: ['report'], says: /^<!DOCTYPE html>\n/, limits: held ? { rss: 150 } : {} },
        { name: 'history', args: ['history', 'pool-0'], says: /^TIME +WHAT /, limits: held ? { rss: 110 } : {} },
      ]),
      ...ofProgram(
        NPM,
        programs.npm,
        env,
        within({}, rows).filter(({ args: [name] }) => name === 'reconcile' || name === 'diff'),
      ),
    ],
  };
}

/** The same with compressed responses, as over a network. */
export function readCompressed(programs: Programs, env: Environment, held: boolean): Race {
  const { peer, others } = readNodes({ ...programs, npm: undefined }, env, held, 0.5);
  return { title: 'Every node read, nothing to do, answers compressed', peer, others };
}
