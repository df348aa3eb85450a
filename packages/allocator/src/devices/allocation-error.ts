/** Fails the whole attempt, whichever other nodes there are. */
export class AllocationError extends Error {
  override readonly name = "AllocationError";
}
