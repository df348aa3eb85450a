import { maxDetail } from "./limits.ts";

/** The status codes of gRPC that calls end with. */
export const rpcCodes = {
  Canceled: 1,
  Unknown: 2,
  InvalidArgument: 3,
  DeadlineExceeded: 4,
  NotFound: 5,
  AlreadyExists: 6,
  PermissionDenied: 7,
  ResourceExhausted: 8,
  FailedPrecondition: 9,
  Aborted: 10,
  OutOfRange: 11,
  Unimplemented: 12,
  Internal: 13,
  Unavailable: 14,
  DataLoss: 15,
  Unauthenticated: 16,
} as const;

export type RpcCode = keyof typeof rpcCodes;

const names = new Map<number, RpcCode>(
  (Object.entries(rpcCodes) as [RpcCode, number][]).map(([name, code]) => [code, name]),
);

/**
 * A failed call. A handler throws it to choose the code; any other error becomes `Unknown`. The message has
 * the form that Kubernetes' events show.
 */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: RpcCode;
  /** Message of the other side. */
  readonly detail: string;

  constructor(code: RpcCode, detail: string, options?: ErrorOptions) {
    super(`rpc error: code = ${code} desc = ${detail}`, options);
    this.code = code;
    this.detail = detail;
  }

  /** True for an RpcError of that code. */
  static is(error: unknown, code: RpcCode): error is RpcError {
    return error instanceof RpcError && error.code === code;
  }
}

/** Returns the name of a gRPC code; Unknown for others. */
export function rpcCodeOf(code: number): RpcCode {
  return names.get(code) ?? "Unknown";
}

/** Converts an error of grpc-js to an RpcError. */
export function fromServiceError(error: unknown): RpcError {
  const { code, details, message } = error as { code?: number; details?: string; message?: string };
  const detail = stableDetail(details || message || String(error));
  // The library's own error would keep the whole text.
  if (detail.length > maxDetail)
    return new RpcError(
      rpcCodeOf(code ?? 2),
      `${detail.slice(0, maxDetail)}... (${detail.length} characters, shortened)`,
    );
  return new RpcError(rpcCodeOf(code ?? 2), detail, { cause: error });
}

/**
 * Removes times from texts of grpc-js: events with equal texts are counted, not made anew. A deadline has
 * Go's text.
 */
function stableDetail(detail: string): string {
  if (detail.length > maxDetail) return detail;
  if (/^Deadline exceeded after [\d.]+s,/.test(detail)) return "context deadline exceeded";
  return detail.replace(/ \(\d{4}-\d\d-\d\dT[\d:.]+Z\)/g, "").replace(/\. Resolution note: $/, "");
}

/** Converts an error of a handler to one of grpc-js. */
export function toServiceError(error: unknown): { code: number; details: string } {
  if (error instanceof RpcError) return { code: rpcCodes[error.code], details: error.detail };
  return { code: rpcCodes.Unknown, details: error instanceof Error ? error.message : String(error) };
}
