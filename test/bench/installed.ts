/** The package as npm installs it, beside the executable alone: started by its path, and by npx. */
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { mustRun } from '../../scripts/package/must-run.ts';
import { packNpm, packPlatform } from '../../scripts/package/npm.ts';
import { hostTarget } from '../../scripts/package/targets.ts';
import { type Command, contender, type Race } from './race.ts';
import type { Programs } from './races.ts';

const PROGRAM = 'kubectl-nodepool';
const VERSION = ['version', '--client'];
const SAYS = /^Client Version: /;
const MOST = { ratio: 1.1 };

/** @param folder of the two projects, one with the package, one with the executable in its place */
export async function installed(
  { executable: [executable] }: Programs,
  env: Record<string, string>,
  folder: string,
): Promise<Race[]> {
  const [packages, withPackage, alone] = [join(folder, 'packages'), join(folder, 'package'), join(folder, 'alone')];
  const bin = (project: string) => join(project, 'node_modules', '.bin');
  for (const path of [packages, withPackage, bin(alone)]) await mkdir(path, { recursive: true });
  await copyFile(executable, join(bin(alone), PROGRAM));
  const main = await packNpm(packages, [hostTarget()]);
  const platform = await packPlatform(hostTarget(), executable, '', packages);
  const quiet = { ...env, npm_config_update_notifier: 'false', npm_config_audit: 'false' };
  await mustRun('npm', ['install', '--offline', main.path, platform.path], { cwd: withPackage, env: quiet });
  const npx = (project: string): Command => ['npx', '--no', '--prefix', project, PROGRAM, ...VERSION];
  return [
    {
      title: 'Installed by npm',
      peer: contender('the executable', [join(bin(alone), PROGRAM), ...VERSION], quiet, SAYS),
      others: [contender('npm package', [join(bin(withPackage), PROGRAM), ...VERSION], quiet, SAYS, MOST)],
    },
    {
      title: 'Started by npx',
      peer: contender('the executable', npx(alone), quiet, SAYS),
      others: [contender('npm package', npx(withPackage), quiet, SAYS, MOST)],
    },
  ];
}
