/**
 * The texts that users read. In src/: string literals and templates of two words or more, with `{}` for what is inserted.
 * In manifests and alerts: descriptions and messages.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from '@babel/parser';
import { loadAll } from 'js-yaml';
import { projectFiles, ROOT } from './root.ts';

export interface Text {
  /** Relative to the project. */
  file: string;
  /** 0 in YAML. */
  line: number;
  text: string;
}

const YAML = ['manifests/*.yaml', 'charts/kubectl-nodepool/files/alerts.yaml'];
/** Fields of YAML that users read: of the CRD, admission policies and alerts. */
const YAML_TEXTS = ['description', 'message', 'messageExpression', 'summary'];

/** In the order of the files and lines. */
export function textsOf(root: string = ROOT): Text[] {
  const read = (file: string) => readFileSync(join(root, file), 'utf8');
  return [
    ...projectFiles('src/**/*.{ts,tsx}').flatMap(file => textsIn(file, read(file))),
    ...projectFiles(YAML).flatMap(file => textsInYaml(file, read(file))),
  ];
}

export function textsInYaml(file: string, source: string): Text[] {
  const found: Text[] = [];
  const collect = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, item] of Object.entries(value)) {
      if (typeof item === 'string' && YAML_TEXTS.includes(key)) found.push({ file, line: 0, text: item });
      else collect(item);
    }
  };
  for (const document of loadAll(source)) collect(document);
  return found;
}

export function textsIn(file: string, source: string): Text[] {
  const plugins: ('typescript' | 'jsx')[] = file.endsWith('x') ? ['typescript', 'jsx'] : ['typescript'];
  const found: Text[] = [];
  visit(parse(source, { sourceType: 'module', plugins }).program, node => {
    const text = textOf(node);
    if (text !== undefined && isSentence(text)) found.push({ file, line: node.loc?.start.line ?? 0, text });
  });
  return found.toSorted((a, b) => a.line - b.line);
}

interface SyntaxNode {
  type: string;
  loc?: { start: { line: number } };
  value?: unknown;
  quasis?: { value: { cooked?: string } }[];
}

function textOf({ type, value, quasis }: SyntaxNode): string | undefined {
  if (type === 'StringLiteral' || type === 'JSXText') return String(value);
  if (type === 'TemplateLiteral') return quasis?.map(({ value: { cooked = '' } }) => cooked).join('{}');
  return undefined;
}

/** Two words beside each other; a selector or a path has none. */
function isSentence(text: string): boolean {
  return /[a-z]{2,}[,;:]? (?:[a-z]{2,}|\{\})|\{\} [a-z]{2,}/i.test(text);
}

function visit(node: object, enter: (node: SyntaxNode) => void): void {
  if ('type' in node && typeof node.type === 'string') enter(node as SyntaxNode);
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) {
      for (const each of value) if (typeof each === 'object' && each !== null) visit(each, enter);
    } else if (typeof value === 'object' && value !== null && 'type' in value) visit(value, enter);
  }
}

/** Sentences of a text: what ends with a full stop, a question mark, a colon or a semicolon, and lines. */
export function sentencesOf(text: string): string[] {
  return text
    .split(/(?<=[.?!:;])\s+|\n+/)
    .map(each => each.trim())
    .filter(each => each !== '');
}

export function wordsOf(sentence: string): number {
  return sentence.split(/\s+/).filter(word => /[a-z{]/i.test(word)).length;
}
