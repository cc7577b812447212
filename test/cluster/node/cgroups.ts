/** The control groups of the test node's pods: one in each hierarchy of version 1, or one in version 2. */
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const ROOT = '/sys/fs/cgroup';
const ATTEMPTS = 100;

const hierarchies = () =>
  existsSync(join(ROOT, 'cgroup.controllers')) ? [ROOT] : readdirSync(ROOT).map(name => join(ROOT, name));

export async function makeCgroups(name: string): Promise<void> {
  for (const hierarchy of hierarchies()) await mkdir(join(hierarchy, name)).catch(() => {});
}

/** Whether this process may make one in every hierarchy. */
export async function canMakeCgroups(name: string): Promise<boolean> {
  await makeCgroups(name);
  const isMade = hierarchies().every(hierarchy => existsSync(join(hierarchy, name)));
  await removeCgroups(name);
  return isMade;
}

/** Kills what is in them, and removes them. Throws when a group stays. */
export async function removeCgroups(name: string): Promise<void> {
  for (const hierarchy of hierarchies()) {
    const group = join(hierarchy, name);
    for (let attempt = 1; existsSync(group); attempt++) {
      await killAll(group);
      await remove(group).catch(async error => {
        if (attempt === ATTEMPTS) throw error;
        await sleep(50);
      });
    }
  }
}

async function killAll(group: string): Promise<void> {
  const files = await readdir(group, { recursive: true });
  for (const file of files.filter(one => one.endsWith('cgroup.procs'))) {
    const pids = await readFile(join(group, file), 'utf8').catch(() => '');
    for (const pid of pids.split('\n').filter(Boolean)) kill(Number(pid));
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

/** Groups have files that cannot be removed, and go with their folder. */
async function remove(group: string): Promise<void> {
  for (const entry of await readdir(group, { withFileTypes: true }))
    if (entry.isDirectory()) await remove(join(group, entry.name));
  await rmdir(group);
}
