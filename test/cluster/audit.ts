/** The API server's audit log, to count requests without the code under test. */
import { createReadStream } from 'node:fs';
import { text } from 'node:stream/consumers';

/**
 * Every request once, at its response (a watch: at its end), without the server's own requests and without bodies.
 * @param created resources of the core group that are logged with their bodies when they are created
 */
export function auditPolicy(created: readonly string[]): object {
  const bodies = { level: 'RequestResponse', verbs: ['create'], resources: [{ group: '', resources: created }] };
  return {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived', 'ResponseStarted', 'Panic'],
    rules: [
      { level: 'None', users: ['system:apiserver'] },
      ...(created.length === 0 ? [] : [bodies]),
      { level: 'Metadata' },
    ],
  };
}

export interface AuditEvent {
  verb: string;
  user: string;
  userAgent: string;
  /** For example nodes, nodepools/status; '' for a path that is no resource. */
  resource: string;
  name: string;
  uri: string;
  code: number;
}

interface Audited {
  auditLog: string | undefined;
  auditStart: number;
}

/** The lines so far, oldest first. The cluster must have been started with `audit`. */
export async function auditLines({ auditLog, auditStart }: Audited): Promise<string[]> {
  if (auditLog === undefined) throw new Error('the control plane was started without `audit`');
  return (await text(createReadStream(auditLog, { start: auditStart }))).split('\n').filter(line => line !== '');
}

/** All requests so far, oldest first. The cluster must have been started with `audit`. */
export async function readAudit(cluster: Audited): Promise<AuditEvent[]> {
  return (await auditLines(cluster)).map(line => {
    const event = JSON.parse(line);
    const { resource = '', subresource, name = '' } = event.objectRef ?? {};
    return {
      verb: event.verb,
      user: event.user.username,
      userAgent: event.userAgent ?? '',
      resource: subresource === undefined ? resource : `${resource}/${subresource}`,
      name,
      uri: event.requestURI,
      code: event.responseStatus?.code ?? 0,
    };
  });
}

/** Whether a request changes anything: not get, list or watch, and no dry run. */
export function isWrite(event: AuditEvent): boolean {
  return !['get', 'list', 'watch'].includes(event.verb) && !event.uri.includes('dryRun=');
}
