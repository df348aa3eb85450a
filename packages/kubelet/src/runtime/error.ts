/**
 * An error of the runtime, with the reason that a waiting container shows (`ErrImageNeverPull`,
 * `RunContainerError`).
 */
export class RuntimeError extends Error {
  override readonly name = "RuntimeError";
  readonly reason: string;

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Throws RuntimeError unless the runtime has the handler of a RuntimeClass. */
export function checkRuntimeHandler(handler: string, known: readonly string[]): void {
  if (known.includes(handler)) return;
  const expected = known.map((name) => JSON.stringify(name)).join(" or ");
  throw new RuntimeError(
    "CreatePodSandboxError",
    `no runtime for ${JSON.stringify(handler)} is configured; expected ${expected}`,
  );
}
