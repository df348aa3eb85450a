/** A registry refuses, or cannot be reached. */
export class RegistryError extends Error {
  override readonly name = "RegistryError";
  /** Of the answer; undefined if there was none. */
  readonly status: number | undefined;

  constructor(message: string, status: number | undefined, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}
