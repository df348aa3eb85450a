/** Fails the whole attempt, whatever the other nodes. */
export class AllocationError extends Error {
  override readonly name = "AllocationError";
}
