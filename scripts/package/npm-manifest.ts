/** The package.json of the packages on npm: the main one, and one with the executable of each platform. */
import pjson from '../../package.json' with { type: 'json' };
import { programOf, type Target } from './targets.ts';

/** As Node names them: `process.platform`, `process.arch`. */
const OS = { linux: 'linux', darwin: 'darwin', windows: 'win32' } as const;
const CPU = { amd64: 'x64', arm64: 'arm64' } as const;

const { name, version, description, license, homepage, repository, bugs, keywords, publishConfig, type } = pjson;

/** Without the scope. bin/launcher/executable.js looks for these names. */
export function platformOf({ os, arch, libc }: Target): string {
  return `${OS[os]}-${CPU[arch]}${libc === 'musl' ? '-musl' : ''}`;
}

/** A scope, in which nobody else may publish. */
export function platformPackage(target: Target): string {
  return `@${name}/${platformOf(target)}`;
}

export interface PlatformManifest {
  name: string;
  version: string;
  os: string[];
  cpu: string[];
  libc?: string[];
  [field: string]: unknown;
}

export function platformManifest(target: Target): PlatformManifest {
  return {
    name: platformPackage(target),
    version,
    description: `The executable of ${name} for ${platformOf(target)}`,
    license,
    homepage,
    repository,
    bugs,
    os: [OS[target.os]],
    cpu: [CPU[target.arch]],
    ...(target.libc !== undefined && { libc: [target.libc] }),
    // Yarn would leave it in an archive, from which no program starts.
    preferUnplugged: true,
    publishConfig,
  };
}

/** The path of the executable in the package. */
export const platformProgram = (target: Target): string => `bin/${programOf(target)}`;

/** Of the main package. Not in the repository's own, where npm would look for packages that are not published yet. */
export function mainManifest(targets: readonly Target[]) {
  return {
    name,
    version,
    description,
    license,
    homepage,
    repository,
    bugs,
    keywords,
    type,
    bin: Object.fromEntries(Object.keys(pjson.bin).map(bin => [bin, `bin/launcher/${bin}`])),
    scripts: { postinstall: 'node bin/launcher/install.js' },
    optionalDependencies: Object.fromEntries(targets.map(target => [platformPackage(target), version])),
    // The launcher runs on this; the bundle says itself what it needs.
    engines: { node: '>=18' },
    publishConfig,
  };
}
