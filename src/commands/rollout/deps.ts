import type { Connection, Deps } from '../../cli/factory.ts';

/** Of one action on one pool: the connection is that of the command. */
export type RolloutDeps = Pick<Deps, 'io'> & { connection: Connection };
