/**
 * The bill of materials in CycloneDX 1.5: the bundled packages, Bun in the executables, and the C library in the image. `npm sbom` would list all
 * of package.json, and add a random number and a time.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pjson from '../../package.json' with { type: 'json' };
import { ROOT } from '../root.ts';
import { BUN_PARTS } from './bun-parts.ts';
import { GLIBC, GLIBC_VERSION } from './glibc.ts';
import type { Package } from './packages.ts';
import { BUN_VERSION, TARGETS, type Target } from './targets.ts';

export const SBOM_FILE = `${pjson.name}-v${pjson.version}.cdx.json`;

const BUN = `pkg:npm/bun@${BUN_VERSION}`;
const LIBC = `pkg:deb/debian/libc6@${encodeURIComponent(GLIBC_VERSION)}?distro=debian-12`;

/** @param packages the bundled packages */
export async function sbom(packages: readonly Package[]): Promise<string> {
  const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { integrity?: string }>;
  };
  const self = { name: pjson.name, version: pjson.version };
  // One version may be in several folders.
  const unique = [...new Map(packages.map(one => [purl(one), one])).values()];
  const copiesOf = (one: Package) => packages.filter(copy => purl(copy) === purl(one));
  const document = {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': purl(self),
        ...self,
        description: pjson.description,
        licenses: [{ license: { id: pjson.license } }],
        purl: purl(self),
        externalReferences: [{ type: 'vcs', url: pjson.repository.url }],
      },
    },
    components: [
      ...unique.map(one => ({
        type: 'library',
        'bom-ref': purl(one),
        name: one.name,
        version: one.version,
        hashes: hashes(lock.packages[one.folder]?.integrity),
        licenses: [licenseChoice(one.license)],
        purl: purl(one),
      })),
      bun(),
      libc(),
    ],
    dependencies: [
      { ref: purl(self), dependsOn: [...packages.filter(isDirect).map(purl), BUN, LIBC] },
      ...unique.map(one => ({ ref: purl(one), dependsOn: dependenciesOfAll(copiesOf(one), packages) })),
      { ref: BUN },
      { ref: LIBC },
    ],
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function bun(): object {
  return {
    type: 'framework',
    'bom-ref': BUN,
    name: 'bun',
    version: BUN_VERSION,
    description: 'The runtime, in the executables alone',
    licenses: [{ license: { id: 'MIT' } }],
    purl: BUN,
    components: [...TARGETS.map(runtime), ...bunParts()],
  };
}

/** The actual runtime of an executable: Bun's package for its platform. */
function runtime({ bun, integrity }: Target): object {
  const one = { name: `@oven/bun-${bun}`, version: BUN_VERSION };
  return {
    type: 'framework',
    ...one,
    hashes: hashes(integrity),
    licenses: [{ license: { id: 'MIT' } }],
    purl: purl(one),
  };
}

function libc(): object {
  return {
    type: 'library',
    'bom-ref': LIBC,
    name: 'libc6',
    version: GLIBC_VERSION,
    description: 'The C library, in the image alone',
    licenses: [{ license: { id: 'LGPL-2.1-or-later' } }],
    purl: LIBC,
    components: Object.entries(GLIBC).map(([arch, { sha256 }]) => ({
      type: 'library',
      name: 'libc6',
      version: GLIBC_VERSION,
      hashes: [{ alg: 'SHA-256', content: sha256 }],
      licenses: [{ license: { id: 'LGPL-2.1-or-later' } }],
      purl: `${LIBC}&arch=${arch}`,
    })),
  };
}

function bunParts(): object[] {
  return BUN_PARTS.map(({ name, license, source, copyright, version }) => ({
    type: 'library',
    name,
    ...(version !== undefined && { version: version[1] }),
    licenses: [licenseChoice(license)],
    copyright,
    externalReferences: [{ type: 'website', url: source }],
  }));
}

function isDirect({ name, folder }: Package): boolean {
  return folder === `node_modules/${name}` && name in pjson.devDependencies;
}

function dependenciesOfAll(copies: Package[], packages: readonly Package[]): string[] {
  return [...new Set(copies.flatMap(one => dependenciesOf(one, packages)).map(purl))];
}

/** Its dependencies in the bundle; of several versions the one that Node resolves from its folder. */
function dependenciesOf({ folder, dependencies }: Package, packages: readonly Package[]): Package[] {
  const byFolder = new Map(packages.map(one => [one.folder, one]));
  return dependencies.flatMap(name => {
    const parts = `${folder}/`.split('node_modules/');
    const places = parts
      .map((_, at) => `${parts.slice(0, at + 1).join('node_modules/')}node_modules/${name}`)
      .reverse();
    return places.flatMap(place => byFolder.get(place) ?? []).slice(0, 1);
  });
}

function purl({ name, version }: { name: string; version: string }): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

function licenseChoice(license: string): object {
  return license.includes(' ') ? { expression: license } : { license: { id: license } };
}

/** package-lock.json uses base 64, CycloneDX hexadecimal. */
function hashes(integrity = ''): object[] {
  const [algorithm, base64] = integrity.split('-');
  return algorithm === 'sha512' && base64 !== undefined
    ? [{ alg: 'SHA-512', content: Buffer.from(base64, 'base64').toString('hex') }]
    : [];
}
