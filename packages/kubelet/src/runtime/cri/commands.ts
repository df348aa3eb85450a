import { RpcError } from "@dray/rpc";
import { RuntimeError } from "../error.ts";
import type { ClientStreams, Command, ExecResult } from "../service.ts";
import { type CriConnection, requestTimeout } from "./connection.ts";
import { containerExtra } from "./labels.ts";
import { discard, remoteCommand } from "./streaming.ts";

/** Maximum length of the output of `execSync` in bytes. */
const maxOutputBytes = 10 << 10;

/** Rejects with the reason `ExecTimeout` if the command runs too long. */
export async function execSync(
  { runtime }: CriConnection,
  containerId: string,
  command: readonly string[],
  timeoutMilliseconds: number,
): Promise<ExecResult> {
  const timeout = BigInt(Math.max(1, Math.ceil(timeoutMilliseconds / 1000)));
  try {
    const { stdout, stderr, exitCode } = await runtime.execSync(
      { containerId, cmd: [...command], timeout },
      { timeout: timeoutMilliseconds + requestTimeout },
    );
    const output = Buffer.concat([stdout, stderr]).subarray(0, maxOutputBytes).toString("utf8");
    return { exitCode, output };
  } catch (error) {
    if (!RpcError.is(error, "DeadlineExceeded")) throw error;
    const seconds = timeoutMilliseconds / 1000;
    throw new RuntimeError("ExecTimeout", `command timed out after ${seconds} seconds`, { cause: error });
  }
}

export async function exec(
  { runtime }: CriConnection,
  { id, command, tty }: Command,
  streams: ClientStreams,
  signal: AbortSignal,
): Promise<number> {
  const wanted = atLeastOne(tty ? { ...streams, stderr: undefined } : streams);
  const { url } = await runtime.exec(
    { containerId: id, cmd: [...command], tty, ...present(wanted) },
    { timeout: requestTimeout, signal },
  );
  return remoteCommand(url, tty, wanted, signal);
}

export async function attach(
  { runtime }: CriConnection,
  containerId: string,
  streams: ClientStreams,
  signal: AbortSignal,
): Promise<void> {
  const { status } = await runtime.containerStatus({ containerId }, { timeout: requestTimeout });
  const { tty, stdin } = containerExtra(status?.annotations ?? {});
  const wanted = atLeastOne({
    ...streams,
    // A container without a standard input takes none.
    stdin: stdin ? streams.stdin : undefined,
    stderr: tty ? undefined : streams.stderr,
  });
  const { url } = await runtime.attach(
    { containerId, tty, ...present(wanted) },
    { timeout: requestTimeout, signal },
  );
  await remoteCommand(url, tty, wanted, signal);
}

function present({ stdin, stdout, stderr }: ClientStreams) {
  return { stdin: stdin !== undefined, stdout: stdout !== undefined, stderr: stderr !== undefined };
}

/** The runtime refuses a command without any stream. */
function atLeastOne(streams: ClientStreams): ClientStreams {
  const { stdin, stdout, stderr } = streams;
  return (stdin ?? stdout ?? stderr) ? streams : { ...streams, stdout: discard() };
}
