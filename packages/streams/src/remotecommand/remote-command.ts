import type { Readable, Writable } from "node:stream";
import type { TerminalSize } from "./resize.ts";
import type { RemoteStatus } from "./status.ts";

/**
 * The streams that exec or attach are asked for (`PodExecOptions`). With `tty` there is no stderr of its own.
 */
export interface RemoteCommandOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** The server's side of exec or attach, whatever it is spoken over: SPDY or WebSocket. */
export interface RemoteCommand {
  /** Input of the client; ends when it closes its side. Present if requested, as the next two. */
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  /** Sizes of the client's terminal, the first one when it begins. */
  readonly sizes: AsyncIterable<TerminalSize>;
  /**
   * Sends the result of the command to the client, then ends the connection. Output written to
   * `stdout` and `stderr` arrives before it.
   */
  finish(status: RemoteStatus): Promise<void>;
  /** Resolves when the connection has ended, whoever ended it. */
  readonly closed: Promise<void>;
}
