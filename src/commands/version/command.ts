import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import type { Deps } from '../../cli/factory.ts';
import { outputFlag } from '../../cli/flags.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { sanitizeJson, sanitizeLine } from '../../print/sanitize.ts';

export default class Version extends BaseCommand<typeof Version> {
  static override summary = 'Print the client and server versions.';
  static override examples = [
    { description: 'Both versions', command: '<%= config.bin %> version' },
    { description: 'Only the client version; needs no cluster', command: '<%= config.bin %> version --client' },
  ];
  static override flags = {
    client: Flags.boolean({ summary: 'Print only the client version.' }),
    output: outputFlag('Print the versions as an object.'),
  };

  protected async execute(
    flags: FlagsOf<typeof Version>,
    _args: ArgsOf<typeof Version>,
    { io, version, connect }: Deps,
  ): Promise<number> {
    let refusal: NodepoolError | undefined;
    let server: string | undefined;
    if (!flags.client) {
      try {
        server = await (await connect()).serverVersion();
      } catch (error) {
        if (!(error instanceof NodepoolError)) throw error;
        refusal = error;
      }
    }
    const versions = { clientVersion: version, ...(server === undefined ? {} : { serverVersion: server }) };
    if (flags.output === 'json') {
      io.out(sanitizeJson(JSON.stringify(versions, null, 2)));
    } else if (flags.output === 'yaml') {
      const { toYaml } = await import('../../print/yaml.ts');
      io.out(toYaml(versions));
    } else {
      io.out(`Client Version: ${version}`);
      if (server !== undefined) io.out(`Server Version: ${sanitizeLine(server)}`);
    }
    // The same as kubectl: throws after printing the client's version.
    if (refusal !== undefined) throw refusal;
    return 0;
  }
}
