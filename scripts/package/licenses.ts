/** THIRD-PARTY-LICENSES: the licences of everything in the bundle, and of Bun for the executables. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../root.ts';
import { BUN_PARTS, type Part } from './bun-parts.ts';
import type { Package } from './packages.ts';
import { BUN_VERSION } from './targets.ts';

export const LICENSES_FILE = 'THIRD-PARTY-LICENSES';

/** Allowed for bundled packages: these licences require only a notice. */
const ALLOWED = ['Apache-2.0', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT', 'Unlicense'];

/** The copyright holders of packages without a licence file, from their sources. */
const WITHOUT_FILE: Record<string, string> = {
  '@bufbuild/protobuf': 'Copyright 2021-2026 Buf Technologies, Inc.\nCopyright 2008 Google Inc.  All rights reserved.',
  'yoga-layout': 'Copyright (c) Meta Platforms, Inc. and affiliates.',
};

const LICENSE_FILE = /^(un)?licen[cs]e|^notice|^copying/i;
const RULE = '-'.repeat(80);

/** One line for each bundled package whose licence is not allowed. */
export function forbidden(packages: readonly Package[]): string[] {
  return packages
    .filter(({ license }) => idsOf(license).some(id => !ALLOWED.includes(id)))
    .map(({ name, license }) => `${name} is under ${license}`);
}

/** The text for the npm package. Throws for a licence that is not allowed or has no text. */
export async function bundleLicenses(packages: readonly Package[]): Promise<string> {
  const wrong = forbidden(packages);
  if (wrong.length > 0) throw new Error(`not among the licences that are allowed: ${wrong.join(', ')}`);
  const holders = new Map<string, string[]>();
  for (const one of packages) {
    const text = await licenseText(one);
    holders.set(text, [...(holders.get(text) ?? []), `${one.name} ${one.version} (${one.license})`]);
  }
  const sections = [...holders].map(([text, names]) => `${RULE}\n${names.join('\n')}\n\n${text}\n`);
  return `kubectl-nodepool contains code of these packages.\n\n${sections.join('\n')}`;
}

/** The text for the executables: also has Bun and the libraries linked into it. */
export async function executableLicenses(packages: readonly Package[]): Promise<string> {
  const ids = new Set(BUN_PARTS.flatMap(({ license }) => idsOf(license)));
  const texts = [...ids].sort().map(async id => `${RULE}\n${id}\n\n${await standardText(id)}\n`);
  return [
    await bundleLicenses(packages),
    `${RULE}
Bun ${BUN_VERSION} (MIT)

The executable is Bun's runtime with the program behind it, unchanged but for a new signature on darwin-amd64. Bun is
under the MIT licence
(https://github.com/oven-sh/bun); linked into it, or carried along, are:

${BUN_PARTS.map(partLine).join('\n')}

JavaScriptCore and tinycc are under the GNU Library and Lesser General Public Licences. You may change them and use the
program with what you changed:

1. Build Bun ${BUN_VERSION} with your changes, as its LICENSE.md tells (https://github.com/oven-sh/bun): clone
   https://github.com/oven-sh/WebKit into vendor/WebKit, check out the commit above, change it, \`bun run build:local\`.
2. Build this program from its sources with that Bun: docs/decisions/0017-executables.md tells how.
`,
    ...(await Promise.all(texts)),
  ].join('\n');
}

function partLine({ name, license, source, copyright, version }: Part): string {
  return `- ${name}: ${license}; ${source}${version === undefined ? '' : `, ${version[1]}`}\n  ${copyright}`;
}

/** The licence files of the package, including notices. */
async function licenseText({ name, license, folder }: Package): Promise<string> {
  const files = (await readdir(join(ROOT, folder))).filter(file => LICENSE_FILE.test(file)).sort();
  const texts = await Promise.all(files.map(file => readFile(join(ROOT, folder, file), 'utf8')));
  if (texts.length === 0) {
    const holder = WITHOUT_FILE[name];
    if (holder === undefined) throw new Error(`${name} has no licence file`);
    texts.push(holder, ...(await Promise.all(idsOf(license).map(standardText))));
  }
  return texts.map(text => text.replaceAll('\r\n', '\n').trim()).join('\n\n');
}

async function standardText(id: string): Promise<string> {
  // The project's own licence has the full text.
  const path = id === 'Apache-2.0' ? 'LICENSE' : join('scripts', 'package', 'licenses', `${id}.txt`);
  return (await readFile(join(ROOT, path), 'utf8')).trimEnd();
}

/** "(Apache-2.0 AND MIT)" -> both. With OR each must be allowed too; an exception also has a text. */
function idsOf(expression: string): string[] {
  return expression.replaceAll(/[()]/g, '').split(/ AND | OR | WITH /);
}
