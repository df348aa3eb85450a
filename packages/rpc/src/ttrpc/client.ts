import type { Duplex } from "node:stream";
import { Request, Response } from "../generated/ttrpc/v1.ts";
import { RpcError, rpcCodeOf } from "../protocol/error.ts";
import { maxDetail } from "../protocol/limits.ts";
import type { Caller, CallOptions, MethodDefinition, ServiceDefinition } from "../protocol/service.ts";
import { FrameParser, frameBytes, maxTtrpcBytes, messageType } from "./frames.ts";

/** The client's side of ttrpc on one connection. */
export interface TtrpcClient {
  /** Returns the methods of one service; methods with streams are not supported. */
  caller<D extends ServiceDefinition>(definition: D): Caller<D>;
  /** Ends the connection; running calls end with Unavailable. */
  close(): void;
  /** Resolves when the connection has ended, whichever side ended it. */
  readonly closed: Promise<void>;
}

type Send = (
  service: string,
  method: MethodDefinition,
  request: unknown,
  options?: CallOptions,
) => Promise<unknown>;

interface Pending {
  answer(response: Uint8Array): void;
  fail(error: RpcError): void;
}

/**
 * Takes over a connection to a ttrpc server (github.com/containerd/ttrpc, PROTOCOL.md). Each message is one
 * write. A request that is longer than 4 MiB fails with ResourceExhausted and is not sent.
 */
export function ttrpcClient(connection: Duplex): TtrpcClient {
  const pending = new Map<number, Pending>();
  let closed = (): void => {};
  const whenClosed = new Promise<void>((resolve) => {
    closed = resolve;
  });
  let nextStream = 1;
  let over = false;

  const end = (): void => {
    if (over) return;
    over = true;
    for (const call of pending.values()) call.fail(new RpcError("Unavailable", "ttrpc: closed"));
    pending.clear();
    closed();
  };
  const parser = new FrameParser(({ stream, type, data, length }) => {
    const call = pending.get(stream);
    if (call === undefined || type !== messageType.response) return;
    if (data === undefined) {
      const limit = `the limit is ${maxTtrpcBytes}`;
      call.fail(new RpcError("ResourceExhausted", `ttrpc: an answer of ${length} bytes, ${limit}`));
    } else call.answer(data);
  });
  connection.on("data", (chunk: Buffer) => parser.push(chunk));
  connection.on("error", end);
  connection.once("end", () => connection.destroy());
  connection.once("close", end);

  const send: Send = (service, method, request, { timeout, signal } = {}) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(new RpcError("Canceled", "cancelled by the caller"));
      if (over) return reject(new RpcError("Unavailable", "ttrpc: closed"));
      const call = Request.fromPartial({
        service,
        method: method.name,
        payload: method.requestType.encode(request).finish(),
        timeoutNano: BigInt(Math.round((timeout ?? 0) * 1e6)),
      });
      const bytes = Request.encode(call).finish();
      if (bytes.length > maxTtrpcBytes) {
        const limit = `the limit is ${maxTtrpcBytes}`;
        return reject(
          new RpcError("ResourceExhausted", `ttrpc: a request of ${bytes.length} bytes, ${limit}`),
        );
      }
      const stream = nextStream;
      nextStream += 2;
      const done = (): void => {
        pending.delete(stream);
        clearTimeout(timer);
        signal?.removeEventListener("abort", cancel);
      };
      const fail = (error: RpcError): void => {
        done();
        reject(error);
      };
      const cancel = (): void => fail(new RpcError("Canceled", "cancelled by the caller"));
      const late = (): void =>
        fail(new RpcError("DeadlineExceeded", `${method.name} has not been answered within ${timeout} ms`));
      const timer = timeout === undefined ? undefined : setTimeout(late, timeout);
      signal?.addEventListener("abort", cancel, { once: true });
      pending.set(stream, {
        fail,
        answer(data) {
          try {
            const { status, payload } = Response.decode(data);
            if (status !== undefined && status.code !== 0) {
              fail(new RpcError(rpcCodeOf(status.code), status.message.slice(0, maxDetail)));
              return;
            }
            const message: unknown = method.responseType.decode(payload);
            done();
            resolve(message);
          } catch (error) {
            fail(
              new RpcError("Internal", `ttrpc: an answer that cannot be read: ${(error as Error).message}`),
            );
          }
        },
      });
      connection.write(frameBytes(stream, messageType.request, bytes));
    });

  return {
    caller: (definition) => callerOf(definition, send),
    close: () => connection.destroy(),
    closed: whenClosed,
  };
}

function callerOf<D extends ServiceDefinition>({ fullName, methods }: D, send: Send): Caller<D> {
  const caller: Record<string, unknown> = {};
  for (const [key, method] of Object.entries(methods)) {
    if (!method.responseStream) {
      caller[key] = (request: unknown, options?: CallOptions) => send(fullName, method, request, options);
    }
  }
  return caller as Caller<D>;
}
