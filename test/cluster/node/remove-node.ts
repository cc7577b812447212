/** Waits until its stdin ends, as it does when the program that started the node ends, and removes what is left of the node. */
import { globSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { removeCgroups } from './cgroups.ts';

const [dir = '', cgroup = ''] = process.argv.slice(2);
const PROCESSES_END_MS = 60_000;

process.stdin.resume().on('end', async () => {
  // A kubelet that still runs makes its control groups and files again.
  for (const end = Date.now() + PROCESSES_END_MS; Date.now() < end && isRunning(); ) await sleep(50);
  await removeCgroups(cgroup);
  await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

/** Whether a process other than this one has the folder in its command line, as all programs of the node have. */
function isRunning(): boolean {
  return globSync('/proc/[0-9]*/cmdline').some(
    path => path !== `/proc/${process.pid}/cmdline` && commandLine(path).includes(dir),
  );
}

function commandLine(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process has ended meanwhile.
    return '';
  }
}
