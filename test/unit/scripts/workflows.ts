/** The workflows of the repository, for the tests that read them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { projectFiles, ROOT } from '../../../scripts/root.ts';

export interface Job {
  permissions?: Record<string, string>;
  environment?: string;
  needs?: string | string[];
  strategy?: { matrix: { include: { runner: string; target: string; npm: string }[] } };
  steps: { uses?: string; run?: string; if?: string; with?: Record<string, unknown> }[];
}

export interface Workflow {
  on: Record<string, unknown>;
  permissions: object;
  jobs: Record<string, Job>;
}

export const workflows = projectFiles('.github/workflows/*.yml').map(file => {
  const source = readFileSync(join(ROOT, file), 'utf8');
  return { file, source, ...(load(source) as Workflow) };
});

export const release = workflows.find(({ file }) => file.endsWith('/release.yml')) as Workflow;

/** The jobs of the release that end well before this one starts. */
export const neededBy = (name: string): string[] =>
  [release.jobs[name]?.needs ?? []].flat().flatMap(other => [other, ...neededBy(other)]);
