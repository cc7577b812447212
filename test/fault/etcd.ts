/** What a cluster's administrators do to etcd, over its JSON gateway. */

async function ask(etcd: string, path: string, body: object): Promise<{ header: { revision: string } }> {
  const response = await fetch(`${etcd}/v3/kv/${path}`, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`etcd: ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as { header: { revision: string } };
}

/** Forgets every revision before the newest, whose number it gives. @param etcd http://HOST:PORT */
export async function compact(etcd: string): Promise<string> {
  const { header } = await ask(etcd, 'range', { key: Buffer.from('/').toString('base64') });
  await ask(etcd, 'compaction', { revision: header.revision, physical: true });
  return header.revision;
}
