import { chmodSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { createInterface, type Interface } from "node:readline";

/** Request of another process of the same user to the one that runs a cluster. */
export interface ControlRequest {
  /** The number of nodes that the cluster is to have. */
  readonly nodes: number;
}

/** Each is one line of JSON. */
type ControlMessage = { readonly say: string } | { readonly done: string } | { readonly failed: string };

/**
 * Does what a request asks, and returns what was done. The signal aborts when the caller no longer waits.
 */
export type ControlHandler = (
  request: ControlRequest,
  say: (line: string) => void,
  signal: AbortSignal,
) => Promise<string>;

/** Serves requests on a unix socket that only its owner can use, until it is closed. */
export async function serveControl(path: string, handle: ControlHandler): Promise<Server> {
  rmSync(path, { force: true });
  const server = createServer((socket) => {
    const gone = new AbortController();
    const send = (message: ControlMessage): void => {
      if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
    };
    socket.on("error", () => socket.destroy());
    socket.once("close", () => gone.abort(new Error("nobody waits for it any longer")));
    linesOf(socket).once("line", (line) => {
      answer(line, handle, send, gone.signal)
        .catch((error: Error) => send({ failed: error.message }))
        .finally(() => socket.end());
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  chmodSync(path, 0o600);
  server.unref();
  return server;
}

/** Errors of the socket are the socket's: the interface repeats them. */
function linesOf(socket: Socket): Interface {
  return createInterface({ input: socket }).on("error", () => {});
}

async function answer(
  line: string,
  handle: ControlHandler,
  send: (message: ControlMessage) => void,
  signal: AbortSignal,
): Promise<void> {
  // Written by this program.
  const request = JSON.parse(line) as ControlRequest;
  send({ done: await handle(request, (text) => send({ say: text }), signal) });
}

/**
 * Asks the process that serves the socket; resolves to what was done. Aborting the signal takes the request
 * back.
 */
export async function askControl(
  path: string,
  request: ControlRequest,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<string> {
  const socket: Socket = connect(path);
  const giveUp = (): void => void socket.destroy(signal.reason as Error);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    return await new Promise<string>((resolve, reject) => {
      socket.once("error", reject);
      socket.once("connect", () => socket.write(`${JSON.stringify(request)}\n`));
      linesOf(socket).on("line", (line) => {
        // Written by this program.
        const message = JSON.parse(line) as ControlMessage;
        if ("say" in message) say(message.say);
        else if ("done" in message) resolve(message.done);
        else reject(new Error(message.failed));
      });
      socket.once("close", () => reject(new Error("the process that runs the cluster has ended meanwhile")));
    });
  } finally {
    signal.removeEventListener("abort", giveUp);
    socket.destroy();
  }
}
