/** `-o` with a template: jsonpath and custom-columns, from the command line or a file. */
import { readFile } from 'node:fs/promises';
import { formatNext, unknownFormat } from '../../cli/unknown/unknown-flag.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { decodeText } from '../../nodepool/text.ts';
import { parseTemplate } from '../../print/jsonpath/parse.ts';
import { explainFor } from '../../print/jsonpath/template.ts';
import {
  columnsTemplate,
  jsonPathTemplate,
  type ObjectTemplate,
  parseColumns,
  parseColumnsFile,
} from '../../print/object-template.ts';

/** In the order used in errors. */
const FORMATS = [
  'json',
  'yaml',
  'name',
  'wide',
  'jsonpath=',
  'jsonpath-file=',
  'jsonpath-as-json=',
  'custom-columns=',
  'custom-columns-file=',
];

/**
 * @param output `jsonpath={.metadata.name}`, `custom-columns-file=PATH`, … Throws NodepoolError if it is invalid
 * @param others other formats of the command
 */
export async function readTemplate(
  output: string,
  { headers, isTerminal, others = [] }: { headers: boolean; isTerminal: boolean; others?: readonly string[] },
): Promise<ObjectTemplate> {
  const equals = output.indexOf('=');
  const [format, argument] = equals < 0 ? [output, ''] : [output.slice(0, equals), output.slice(equals + 1)];
  const isFile = format.endsWith('-file');
  switch (format) {
    case 'jsonpath':
    case 'jsonpath-file':
    case 'jsonpath-as-json': {
      const text = await textOf(format, argument, isFile);
      const template = explained(format, () => parseTemplate(text));
      return explainedTemplate(format, jsonPathTemplate(template, format === 'jsonpath-as-json', isTerminal));
    }
    case 'custom-columns':
    case 'custom-columns-file': {
      const text = await textOf(format, argument, isFile);
      const columns = explained(format, () => (isFile ? parseColumnsFile(text) : parseColumns(text)));
      // The same as kubectl: --no-headers does not apply to headers from a file.
      return explainedTemplate(format, columnsTemplate(columns, headers || isFile, isTerminal));
    }
    default:
      throw new NodepoolError('usage', unknownFormat(format), formatNext(format, [...FORMATS, ...others]));
  }
}

async function textOf(format: string, argument: string, isFile: boolean): Promise<string> {
  if (argument === '') {
    const example = isFile ? 'PATH' : format.startsWith('jsonpath') ? '{.metadata.name}' : 'NAME:.metadata.name';
    throw new NodepoolError('usage', `-o ${format} needs a template`, `write -o ${format}=${example}`);
  }
  if (!isFile) return argument;
  try {
    // Without the byte order mark of an editor.
    return decodeText(await readFile(argument));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new NodepoolError(
      'input',
      `-o ${format}: ${code === 'ENOENT' ? `${argument}: no such file` : message}`,
      'check the path',
      { cause: error },
    );
  }
}

function explainedTemplate(format: string, template: ObjectTemplate): ObjectTemplate {
  return () => {
    const print = template();
    return objects => explained(format, () => print(objects));
  };
}

function explained<T>(format: string, run: () => T): T {
  return explainFor(`-o ${format}`, 'correct the template', run);
}
