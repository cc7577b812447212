/** What is measured against kubectl. */
import { buildPackage } from '../../scripts/build.ts';
import { buildExecutable } from '../../scripts/package/executable.ts';
import { hostTarget } from '../../scripts/package/targets.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import { productCommand } from '../cluster/product.ts';
import { type Command, contender, type Limits, type Race } from './race.ts';

export interface Programs {
  kubectl: Command;
  executable: Command;
  /** The program of the npm package, on Node; undefined: not measured. */
  npm?: Command;
}

export async function buildPrograms(): Promise<Required<Programs>> {
  const { kubectl } = await ensureBinaries(['kubectl']);
  await buildPackage();
  return { kubectl: [kubectl], executable: [await buildExecutable(hostTarget())], npm: productCommand('bundle') };
}

type Environment = Record<string, string>;

const EXECUTABLE = 'executable';
const NPM = 'npm package';

/** Sends no request: pool names come from the cache that the warm-up filled. */
export function startUp({ kubectl, executable, npm }: Programs, env: Environment): Race {
  const [version, usage] = [/^Client Version: /, /^USAGE$/m];
  const complete = [...executable, '__complete'] as Command;
  const [most, npmMost]: Limits[] = [{ ratio: 0.5 }, { ratio: 3 }];
  return {
    title: 'Start-up',
    peer: contender('kubectl version --client', [...kubectl, 'version', '--client'], env, version),
    others: [
      contender(`${EXECUTABLE}: version --client`, [...executable, 'version', '--client'], env, version, most),
      contender(`${EXECUTABLE}: --help`, [...executable, '--help'], env, usage, most),
      contender(`${EXECUTABLE}: get --help`, [...executable, 'get', '--help'], env, usage, most),
      contender(`${EXECUTABLE}: completion of a command`, [...complete, 'de'], env, /^describe\t/, most),
      contender(`${EXECUTABLE}: completion of a pool`, [...complete, 'get', 'pool-1'], env, /^pool-1\n/, most),
      ...(npm
        ? [
            contender(`${NPM}: version --client`, [...npm, 'version', '--client'], env, version, npmMost),
            contender(
              `${NPM}: completion of a pool`,
              [...npm, '__complete', 'get', 'pool-1'],
              env,
              /^pool-1\n/,
              npmMost,
            ),
          ]
        : []),
    ],
  };
}

/** @param held whether the limits apply to the size of the cluster */
export function readPools({ kubectl, executable, npm }: Programs, env: Environment, held: boolean): Race {
  const table = /^NAME +STATUS .*\npool-0 /;
  return {
    title: 'The table of pools',
    peer: contender('kubectl get nodepools', [...kubectl, 'get', 'nodepools'], env, table),
    others: [
      contender(`${EXECUTABLE}: get`, [...executable, 'get'], env, table, held ? { ratio: 0.6 } : {}),
      ...(npm ? [contender(`${NPM}: get`, [...npm, 'get'], env, table, held ? { ratio: 3 } : {})] : []),
    ],
  };
}

/** Reads all nodes and writes nothing. @param ratio the limit */
export function readNodes({ kubectl, executable, npm }: Programs, env: Environment, held: boolean, ratio = 0.45): Race {
  const most: Limits = held ? { ratio, rss: 100 } : {};
  const done = /^pool-0 +200 .*\(unchanged\)/;
  const same = /^$/;
  const top = /^POOL +NODES +CPU +MEM +PODS\npool-0 +(\d+)\/\1 +\d/;
  return {
    title: 'Every node read, nothing to do',
    peer: contender('kubectl get nodes', [...kubectl, 'get', 'nodes'], env, /^NAME +STATUS .*\nnode-/),
    others: [
      contender(`${EXECUTABLE}: reconcile`, [...executable, 'reconcile'], env, done, most),
      contender(`${EXECUTABLE}: diff`, [...executable, 'diff'], env, same, most),
      contender(`${EXECUTABLE}: nodes`, [...executable, 'nodes'], env, /^NAME +STATUS +POOL .*\nnode-/, most),
      contender(`${EXECUTABLE}: top --no-pods`, [...executable, 'top', '--no-pods'], env, top, most),
      contender(
        `${EXECUTABLE}: report`,
        [...executable, 'report'],
        env,
        /^<!DOCTYPE html>\n/,
        held ? { rss: 150 } : {},
      ),
      contender(
        `${EXECUTABLE}: history`,
        [...executable, 'history', 'pool-0'],
        env,
        /^TIME +WHAT /,
        held ? { rss: 110 } : {},
      ),
      ...(npm ? [contender(`${NPM}: reconcile`, [...npm, 'reconcile'], env, done)] : []),
      ...(npm ? [contender(`${NPM}: diff`, [...npm, 'diff'], env, same)] : []),
    ],
  };
}

/** The same with compressed responses, as over a network. */
export function readCompressed({ kubectl, executable }: Programs, env: Environment, held: boolean): Race {
  const { peer, others } = readNodes({ kubectl, executable }, env, held, 0.5);
  return { title: 'Every node read, nothing to do, answers compressed', peer, others };
}
