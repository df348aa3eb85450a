import type { Readable, Writable } from "node:stream";
import type { TerminalSize } from "./resize.ts";
import type { RemoteStatus } from "./status.ts";

/** The requested streams of exec or attach (`PodExecOptions`). With `tty` there is no separate stderr. */
export interface RemoteCommandOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** The server's side of exec or attach, over SPDY or WebSocket. */
export interface RemoteCommand {
  /**
   * Input of the client; ends when the client closes its side. This and the next two are present if
   * requested.
   */
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  /** Sizes of the client's terminal, the initial size first. */
  readonly sizes: AsyncIterable<TerminalSize>;
  /**
   * Sends the result of the command to the client, then ends the connection. Output written to
   * `stdout` and `stderr` arrives before it.
   */
  finish(status: RemoteStatus): Promise<void>;
  /** Resolves when the connection has ended, whichever side ended it. */
  readonly closed: Promise<void>;
}
