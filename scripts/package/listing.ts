/**
 * What the places that list the project require, beyond what their own programs check. docs/release.md has the sources.
 * Each function returns the rules that are broken.
 */
import { basename } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { load } from 'js-yaml';
import { list } from 'tar';
import pjson from '../../package.json' with { type: 'json' };
import { KREW_FILE } from './krew.ts';
import { mainManifest, platformPackage } from './npm-manifest.ts';
import { TARGETS } from './targets.ts';

/** What `npm run release` has made. */
export interface Listed {
  krew: string;
  archives: readonly string[];
  /** Chart.yaml, and the path of the package. */
  chart: { yaml: string; path: string };
  npm: { files: readonly string[] };
}

/** Throws with every rule that is broken. */
export async function checkListing({ krew, archives, chart, npm }: Listed): Promise<void> {
  const files = new Map<string, string[]>();
  for (const path of [...archives, chart.path]) files.set(basename(path), await filesOf(path));
  const inChart = files.get(basename(chart.path))?.map(file => file.replace(/^[^/]+\//, '')) ?? [];
  const problems = [
    ...krewProblems(krew, uri => files.get(basename(uri)) ?? []).map(rule => `krew-index: ${rule}`),
    ...artifactHubProblems(chart.yaml, inChart).map(rule => `Artifact Hub: ${rule}`),
    ...npmProblems(mainManifest(TARGETS), npm.files).map(rule => `npm: ${rule}`),
  ];
  if (problems.length > 0) throw new Error(`not true of this release:\n${problems.join('\n')}`);
}

async function filesOf(archive: string): Promise<string[]> {
  const files: string[] = [];
  await list({ file: archive, onReadEntry: ({ path }) => files.push(path) });
  return files;
}

type Rule = readonly [rule: string, isKept: boolean];

/** `kubectl krew search` cuts longer ones. */
const SHORT_DESCRIPTION = 50;
const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const SEMVER = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;
/** The names that krew-index accepts for the licence. */
const LICENSE_FILE = /^(license|licenses|copying)(\.txt|\.md)?$/i;
const CATEGORIES = [
  'ai-machine-learning',
  'database',
  'integration-delivery',
  'monitoring-logging',
  'networking',
  'security',
  'storage',
  'streaming-messaging',
  'skip-prediction',
];

interface KrewManifest {
  metadata: { name: string };
  spec: {
    version: string;
    homepage?: string;
    shortDescription?: string;
    description?: string;
    platforms: { selector: { matchLabels: Record<string, string> }; uri: string; sha256: string; bin: string }[];
  };
}

/** @param files the files of the archive at that URI */
export function krewProblems(manifest: string, files: (uri: string) => readonly string[]): string[] {
  const { metadata, spec } = load(manifest) as KrewManifest;
  const { shortDescription = '', description = '', homepage = '', platforms } = spec;
  const selected = platforms.map(({ selector: { matchLabels } }) => `${matchLabels.os}-${matchLabels.arch}`);
  return broken([
    ['metadata.name is the name of the file', `${metadata.name}.yaml` === KREW_FILE],
    ['metadata.name is in kebab-case', KEBAB_CASE.test(metadata.name)],
    ['metadata.name does not begin with kube', !metadata.name.startsWith('kube')],
    ['spec.version is a semantic version with a v', spec.version.startsWith('v') && SEMVER.test(spec.version.slice(1))],
    ['spec.homepage is an https URL', isHttps(homepage)],
    ['spec.shortDescription has at most 50 characters', fits(shortDescription, SHORT_DESCRIPTION)],
    ['spec.description is longer than spec.shortDescription', description.length > shortDescription.length],
    ['spec.platforms selects each platform once', new Set(selected).size === selected.length && selected.length > 0],
    ...platforms.flatMap(({ uri, sha256, bin }): Rule[] => [
      [`${uri} is https, and a .tar.gz or .zip`, isHttps(uri) && /\.(tar\.gz|zip)$/.test(uri)],
      [`${uri} has its SHA-256`, /^[0-9a-f]{64}$/.test(sha256)],
      [`${uri} contains ${bin}`, files(uri).includes(bin)],
      [`${uri} contains a licence`, files(uri).some(file => LICENSE_FILE.test(file))],
    ]),
  ]);
}

interface Chart {
  name: string;
  version: string;
  description?: string;
  home?: string;
  annotations: Record<string, string>;
}

/** @param files of the chart's package, without its folder */
export function artifactHubProblems(chart: string, files: readonly string[]): string[] {
  const { name, version, description = '', home = '', annotations } = load(chart) as Chart;
  const annotation = (key: string) => annotations[`artifacthub.io/${key}`] ?? '';
  const items = (key: string) => (load(annotation(key) || '[]') ?? []) as Record<string, string>[];
  const kinds = items('crds').map(({ kind }) => kind);
  return broken([
    ['name is in kebab-case', KEBAB_CASE.test(name)],
    // A tag of the registry must be one.
    ['version is a semantic version', SEMVER.test(version)],
    ['description is there', fits(description, Number.POSITIVE_INFINITY)],
    ['home is an https URL', isHttps(home)],
    ['the package has a README', files.includes('README.md')],
    ['the package has a schema of its values', files.includes('values.schema.json')],
    ['license is that of package.json', annotation('license') === pjson.license],
    ['category is one of Artifact Hub', CATEGORIES.includes(annotation('category'))],
    ['operator is a boolean', ['true', 'false'].includes(annotation('operator'))],
    ['images have the version as tag', items('images').every(({ image = '' }) => image.endsWith(`:${version}`))],
    ['images are named', items('images').length > 0],
    ['crds have kind, version and name', items('crds').every(crd => crd.kind && crd.version && crd.name)],
    ['crdsExamples are of these kinds', items('crdsExamples').every(({ kind }) => kinds.includes(kind))],
    ['links are https URLs with a name', items('links').every(link => link.name && isHttps(link.url))],
    // It is shown beside the package.
    ['links have support', items('links').some(link => link.name === 'support')],
  ]);
}

/** @param files of the package */
export function npmProblems(manifest: ReturnType<typeof mainManifest>, files: readonly string[]): string[] {
  const { name, version, description, license, repository, bugs, homepage, keywords, bin, publishConfig } = manifest;
  return broken([
    ['name is in kebab-case, without a scope', KEBAB_CASE.test(name)],
    ['version is a semantic version', SEMVER.test(version)],
    ['description is there', fits(description, Number.POSITIVE_INFINITY)],
    ['license is an SPDX identifier', license === 'Apache-2.0'],
    // npm compares it with the provenance.
    ['repository.url is that of homepage', repository.url === `git+${homepage}.git`],
    ['homepage and bugs are https URLs', isHttps(homepage) && isHttps(bugs)],
    ['keywords are there', keywords.length > 0],
    [
      'publishConfig asks for public access and provenance',
      publishConfig.access === 'public' && publishConfig.provenance,
    ],
    ['the package has README, LICENSE', ['README.md', 'LICENSE'].every(file => files.includes(file))],
    ['the package has what bin names', Object.values(bin).every(file => files.includes(file))],
    ['the package has no dependencies but the executables', !('dependencies' in manifest) && hasPlatforms(manifest)],
  ]);
}

/** Every platform's package, in the version of the main one. */
function hasPlatforms({ version, optionalDependencies }: ReturnType<typeof mainManifest>): boolean {
  const names = TARGETS.map(platformPackage);
  const isWhole = isDeepStrictEqual(Object.keys(optionalDependencies), names);
  return isWhole && Object.values(optionalDependencies).every(one => one === version);
}

function broken(rules: readonly Rule[]): string[] {
  return rules.filter(([, isKept]) => !isKept).map(([rule]) => rule);
}

function isHttps(url: string | undefined): boolean {
  return url !== undefined && URL.parse(url)?.protocol === 'https:';
}

/** Whether it is a single line of at most so many characters. */
function fits(text: string, limit: number): boolean {
  return text.trim() !== '' && !/[\r\n]/.test(text) && text.length <= limit;
}
