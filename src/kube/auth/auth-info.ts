/** What proves who we are, wherever it comes from. */
export interface AuthInfo {
  /** PEM. */
  cert?: string | Buffer | undefined;
  key?: string | Buffer | undefined;
  /** The whole header's value. */
  authorization?: string | undefined;
}

/** An exec plugin or an auth-provider: it is asked again and again, and keeps what it gave until that has expired. */
export interface AuthInfoSource {
  /**
   * Throws NodepoolError that names the user.
   * @param refused the server refused what it gave last
   */
  authInfo(options: { refused: boolean }): Promise<AuthInfo>;
}

/** What a login needs of the process: its environment, its terminal, its end. */
export interface LoginSurroundings {
  env: Record<string, string | undefined>;
  /** Milliseconds since 1970. */
  now(): number;
  /** Where a plugin asks its questions, and where a person answers. */
  terminal: Terminal;
  /** Ends a plugin that runs. */
  signal: AbortSignal;
  /** Gets warnings, with level 0, and what `-v` shows. */
  log: (level: number, text: () => string) => void;
}

export interface Terminal {
  /** File descriptors. */
  stdin: number;
  stderr: number | 'ignore';
  stdinIsTTY: boolean;
  /** Whether stdin was the input of `-f -`. */
  stdinIsSpent(): boolean;
  /** Told when a plugin begins to write there, and when it has ended. */
  onUse?(used: boolean): void;
}

/** Nobody is there to answer. */
export const NO_TERMINAL: Terminal = { stdin: 0, stderr: 2, stdinIsTTY: false, stdinIsSpent: () => false };
