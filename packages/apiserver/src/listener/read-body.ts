import type { Clock } from "@dray/client";
import type { Exchange } from "../http/exchange.ts";
import { bodyLimit } from "../request/body-limit.ts";

/** A larger body is read only after its sender is authorized, and needs room in the budget of all bodies. */
const maxSmallBodyBytes = 64 * 1024;

const nothing = new Uint8Array();

/** Why a body is not read. */
export type BodyRefusal = "RequestEntityTooLarge" | "TooManyRequests";

/** Reports whether the body may be large; so may one of unknown length. */
export function mayBeLarge(exchange: Exchange): boolean {
  return exchange.body !== undefined && (declaredLength(exchange) ?? bodyLimit) > maxSmallBodyBytes;
}

/** Length of the body by its header; undefined if it has none, or an invalid one. */
export function declaredLength({ headers }: Exchange): number | undefined {
  const length = Number(headers["content-length"] ?? Number.NaN);
  return length >= 0 ? length : undefined;
}

/** Parts of the reading of a body. */
interface Reading {
  readonly clock: Clock;
  readonly progressTimeout: number;
  /** Takes room for a body that turns out to be large; false: all room is taken. */
  readonly takeRoom: () => boolean;
}

/**
 * Reads the whole body, or returns why it is rejected. Rejects if the client disconnects or takes too long.
 */
export function readBody(
  exchange: Exchange,
  { clock, progressTimeout, takeRoom }: Reading,
): Promise<Uint8Array | BodyRefusal> | Uint8Array | BodyRefusal {
  const { body } = exchange;
  if (body === undefined) return nothing;
  if ((declaredLength(exchange) ?? 0) > bodyLimit) return "RequestEntityTooLarge";
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let isRefused = false;
    const stop = clock.after(progressTimeout, () => {
      reject(new Error("the client did not complete its request in time"));
      exchange.abort();
    });
    body.on("data", (chunk: Buffer) => {
      if (isRefused) return;
      const isSmall = size <= maxSmallBodyBytes;
      size += chunk.length;
      if (size > bodyLimit) resolve("RequestEntityTooLarge");
      else chunks.push(chunk);
      if (!isSmall || size <= maxSmallBodyBytes) return;
      isRefused = !takeRoom();
      if (isRefused) resolve("TooManyRequests");
    });
    const disconnected = (): void => {
      stop();
      reject(new Error("the client went away before its request was complete"));
    };
    body.once("close", disconnected);
    body.once("end", () => {
      stop();
      body.off("close", disconnected);
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    });
  });
}
