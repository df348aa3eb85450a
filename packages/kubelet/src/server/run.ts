import type { ServerResponse } from "node:http";
import { Writable } from "node:stream";
import type { RuntimeService } from "../runtime/service.ts";

/** Maximum size of each output in bytes, as in CRI's `ExecSync`. */
const outputLimit = 16 << 20;

/** Keeps the beginning of its input. */
class Beginning extends Writable {
  readonly #chunks: Buffer[] = [];
  #length = 0;

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    const part = chunk.subarray(0, outputLimit - this.#length);
    this.#length += part.length;
    if (part.length > 0) this.#chunks.push(part);
    done();
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

/**
 * `/run`: runs a command, and responds with both outputs. Rejects for an exit code other than 0. The command
 * is killed when the client disconnects.
 */
export async function answerRun(
  runtime: RuntimeService,
  containerId: string,
  command: readonly string[],
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const [stdout, stderr] = [new Beginning(), new Beginning()];
  const streams = { stdin: undefined, stdout, stderr, resize: undefined };
  const code = await runtime.exec({ id: containerId, command, tty: false }, streams, gone.signal);
  if (code !== 0)
    throw new Error(`command '${command.join(" ")}' exited with ${code}: ${stderr.bytes.toString("utf8")}`);
  response
    .writeHead(200, { "content-type": "application/json" })
    .end(Buffer.concat([stdout.bytes, stderr.bytes]));
}
