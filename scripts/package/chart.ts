/** The chart as `helm push` takes it. Helm reads its name and version from Chart.yaml, so the file has a name of its own. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { create } from 'tar';
import pjson from '../../package.json' with { type: 'json' };
import { ROOT } from '../root.ts';
import { TIME } from './archive.ts';

export const CHART_FILE = `${pjson.name}-chart-${pjson.version}.tgz`;

/** Writes the package of the chart into `folder` and returns its path. Equal sources give equal bytes. */
export async function packChart(folder: string): Promise<string> {
  const file = join(folder, CHART_FILE);
  const charts = join(ROOT, 'charts');
  const files = readdirSync(join(charts, pjson.name), { recursive: true, withFileTypes: true })
    .filter(entry => !entry.isDirectory())
    .map(entry => join(entry.parentPath, entry.name).slice(charts.length + 1));
  // files/ links to manifests/, since Helm reads no file outside of its chart.
  await create({ file, cwd: charts, follow: true, gzip: true, portable: true, mtime: TIME }, files.sort());
  return file;
}
