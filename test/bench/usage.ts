/** Resource usage of a process, from Linux's /proc. */
import { readFile } from 'node:fs/promises';

/** Of the kernel, for times in /proc. */
const TICKS_A_SECOND = 100;

/** Seconds of CPU so far, all threads, user and system. */
export async function cpuSeconds(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
}

/** Millions of bytes. */
export interface Memory {
  now: number;
  /** The peak. */
  peak: number;
  /** Pages of files among these: the program itself, which the kernel may drop and reread. */
  files: number;
}

export async function memoryOf(pid: number): Promise<Memory> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8');
  const field = (name: string) => (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) * 1024) / 1e6;
  return { now: field('VmRSS'), peak: field('VmHWM'), files: field('RssFile') };
}
