/** A reporter of node:test: the paths of the test files that failed, a line each. */
interface TestEvent {
  type: string;
  data: { file?: string; success?: boolean };
}

export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files = new Set<string>();
  for await (const { type, data } of events) {
    // A test's own file is where test() was called, which may be a helper; that of a summary is the one that was run. One that crashed
    // has no summary, and fails as a test of its own.
    const isFailed = type === 'test:summary' ? data.success === false : type === 'test:fail' && isTestFile(data.file);
    if (isFailed && data.file !== undefined) files.add(data.file);
  }
  for (const file of files) yield `${file}\n`;
}

function isTestFile(file = ''): boolean {
  return file.endsWith('.test.ts');
}
