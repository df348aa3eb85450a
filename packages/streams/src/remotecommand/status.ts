/** Result of a command on the error stream: the part of meta/v1 Status that exec and attach use. */
export interface RemoteStatus {
  /** Always empty. kube-apiserver writes it, kubelets do not. */
  readonly metadata?: Readonly<Record<string, never>>;
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
  readonly code?: number;
}

const nonZeroExitCode = "NonZeroExitCode";
const exitCodeCause = "ExitCode";

export const success: RemoteStatus = { status: "Success" };

/** The status of a command with an exit code other than 0; `how` is the text: `exit status 3`. */
export function exited(code: number, how: string): RemoteStatus {
  return {
    status: "Failure",
    message: `command terminated with non-zero exit code: ${how}`,
    reason: nonZeroExitCode,
    details: { causes: [{ reason: exitCodeCause, message: String(code) }] },
  };
}

/** The status of a command that could not be run, or whose result is unknown. */
export function internalError(why: string): RemoteStatus & { readonly code: number } {
  return {
    status: "Failure",
    message: `Internal error occurred: ${why}`,
    reason: "InternalError",
    code: 500,
  };
}

/** Encodes a status for the error stream: JSON from v4 on, before that the message of a failure alone. */
export function statusBytes(status: RemoteStatus, protocol: string): Buffer {
  if (/^v[45]\./.test(protocol)) return Buffer.from(JSON.stringify(status));
  return Buffer.from(status.status === "Success" ? "" : (status.message ?? ""));
}

/** The decoded error stream of a command. */
export type Outcome =
  | { readonly type: "success" }
  | { readonly type: "exited"; readonly code: number }
  | { readonly type: "failed"; readonly message: string };

/** Decodes the error stream as client-go's decoder of the protocol does. An empty stream is a success. */
export function outcomeOf(bytes: Buffer, protocol: string): Outcome {
  const text = bytes.toString("utf8");
  if (text === "") return { type: "success" };
  const failed = (message: string): Outcome => ({ type: "failed", message });
  if (!/^v[45]\./.test(protocol)) return failed(`error executing remote command: ${text}`);
  let status: RemoteStatus;
  try {
    status = JSON.parse(text) as RemoteStatus; // Each field is checked below; a runtime in Go may write null.
  } catch (error) {
    return failed(`error stream protocol error: ${(error as Error).message} in ${JSON.stringify(text)}`);
  }
  if (status?.status === "Success") return { type: "success" };
  if (status?.status !== "Failure") return failed("error stream protocol error: unknown error");
  if (status.reason !== nonZeroExitCode) return failed(status.message ?? "");
  if (!status.details) return failed("error stream protocol error: details must be set");
  const cause = status.details.causes?.find(({ reason }) => reason === exitCodeCause);
  if (cause === undefined) return failed(`error stream protocol error: no ${exitCodeCause} cause given`);
  const digits = cause.message ?? "";
  if (!/^\d+$/.test(digits) || Number(digits) > 255) {
    return failed(`error stream protocol error: invalid exit code value ${JSON.stringify(digits)}`);
  }
  return { type: "exited", code: Number(digits) };
}
