/** The whole attempt fails, whatever other nodes have. */
export class AllocationError extends Error {
  override readonly name = "AllocationError";
}
