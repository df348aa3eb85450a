/** A registry refuses or cannot be reached. */
export class RegistryError extends Error {
  override readonly name = "RegistryError";
  /** Status of the response; undefined without one. */
  readonly status: number | undefined;

  constructor(message: string, status: number | undefined, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}
