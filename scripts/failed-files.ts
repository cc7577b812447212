/** A reporter of node:test: the paths of the files with a failed test, a line each. */
interface TestEvent {
  type: string;
  data: { file?: string };
}

export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files = new Set<string>();
  for await (const { type, data } of events) if (type === 'test:fail' && data.file !== undefined) files.add(data.file);
  for (const file of files) yield `${file}\n`;
}
