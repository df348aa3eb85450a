import type { Duplex } from "node:stream";
import { Request, Response } from "../generated/ttrpc/v1.ts";
import { RpcError, toServiceError } from "../protocol/error.ts";
import type { CallContext, MethodDefinition, Service } from "../protocol/service.ts";
import { type Frame, FrameParser, frameBytes, maxTtrpcBytes, messageType } from "./frames.ts";

/**
 * Maximum number of running calls of one client. Its connection is not read above that, nor while it does not
 * read its responses: they would fill the memory.
 */
const maxCalls = 64;

interface Method {
  readonly definition: MethodDefinition;
  readonly handler: (request: never, context: CallContext) => unknown;
}

/**
 * Serves methods without streams on one connection (github.com/containerd/ttrpc, PROTOCOL.md). Never throws
 * because of input; a client that violates the protocol is disconnected.
 */
export function serveTtrpc(connection: Duplex, services: readonly Service[]): void {
  const methods = new Map<string, Method>();
  for (const { definition, handlers } of services) {
    for (const [key, method] of Object.entries(definition.methods)) {
      const handler = handlers[key];
      if (handler !== undefined && !method.responseStream) {
        methods.set(`${definition.fullName}/${method.name}`, { definition: method, handler });
      }
    }
  }
  const gone = new AbortController();
  let calls = 0;
  let lastStream = 0;

  const answer = (stream: number, response: Parameters<typeof Response.fromPartial>[0]): void => {
    if (connection.destroyed) return;
    const bytes = Response.encode(Response.fromPartial(response)).finish();
    if (bytes.length > maxTtrpcBytes) {
      const message = `ttrpc: an answer of ${bytes.length} bytes, the limit is ${maxTtrpcBytes}`;
      answer(stream, { status: { code: 8, message } });
    } else connection.write(frameBytes(stream, messageType.response, bytes));
  };

  const serve = async ({ stream, data, length }: Frame): Promise<void> => {
    try {
      if (data === undefined) {
        const limit = `the limit is ${maxTtrpcBytes}`;
        throw new RpcError("ResourceExhausted", `ttrpc: a request of ${length} bytes, ${limit}`);
      }
      const request = decoded(Request, data);
      const method = methods.get(`${request.service}/${request.method}`);
      if (method === undefined) {
        throw new RpcError("Unimplemented", `ttrpc: no method ${request.service}/${request.method}`);
      }
      const { definition, handler } = method;
      const message = decoded(definition.requestType, request.payload) as never;
      const response = await handler(message, { signal: gone.signal });
      answer(stream, { payload: definition.responseType.encode(response).finish() });
    } catch (error) {
      const { code, details } = toServiceError(error);
      answer(stream, { status: { code, message: details } });
    }
  };

  const readOrWait = (): void => {
    if (calls >= maxCalls || connection.writableNeedDrain) connection.pause();
    else connection.resume();
  };
  connection.on("drain", readOrWait);

  const parser = new FrameParser((frame) => {
    // Stream IDs of a client are odd and increase.
    const valid = frame.type === messageType.request && frame.stream % 2 === 1 && frame.stream > lastStream;
    if (!valid) {
      connection.destroy();
      return;
    }
    lastStream = frame.stream;
    calls++;
    readOrWait();
    void serve(frame).finally(() => {
      calls--;
      readOrWait();
    });
  });
  connection.on("data", (chunk: Buffer) => {
    if (!connection.destroyed) parser.push(chunk);
  });
  connection.on("error", () => {});
  connection.once("end", () => connection.destroy());
  connection.once("close", () => gone.abort(new RpcError("Canceled", "the caller has gone")));
}

function decoded<T>(type: { decode(bytes: Uint8Array): T }, bytes: Uint8Array): T {
  try {
    return type.decode(bytes);
  } catch (error) {
    throw new RpcError(
      "InvalidArgument",
      `ttrpc: a message that cannot be read: ${(error as Error).message}`,
    );
  }
}
