/** Context of an error. */
export interface ErrorContext {
  /**
   * `discover`: it threw, or what it yielded has a wrong shape or cannot be published (`PoolError`).
   * `publish`: the API server refused slices (`StatusError`), could not be reached (`ConnectionError`), or
   * stored less than it was sent (`DroppedFieldsError`).
   */
  readonly during: "discover" | "publish";
  /**
   * Default unless `onError` returns something else: true, the driver ends; false, it goes on and tries
   * again.
   */
  readonly fatal: boolean;
}

/** `end`: `runDriver` rejects with the error. `retry`: it goes on, with back-off. */
export type ErrorDecision = "end" | "retry";

/**
 * The result of `discover` cannot be published, whatever the API server would say. The last published pools
 * stay.
 */
export class PoolError extends Error {
  override readonly name = "PoolError";
}

/**
 * The API server stored a ResourceSlice without fields that it was sent, because feature gates are off there.
 * The slice is published as far as the server has it, and is not sent again for that reason.
 */
export class DroppedFieldsError extends Error {
  override readonly name = "DroppedFieldsError";
  readonly pool: string;
  /** metadata.name of the ResourceSlice. */
  readonly slice: string;
  /** Names of the feature gates. */
  readonly gates: readonly string[];

  constructor(pool: string, slice: string, gates: readonly string[]) {
    super(
      `the API server dropped fields of ResourceSlice ${slice} (pool ${pool}): feature gates ${gates.join(", ")} are off there`,
    );
    this.pool = pool;
    this.slice = slice;
    this.gates = gates;
  }
}
