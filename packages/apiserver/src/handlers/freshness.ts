import { StatusError } from "@dray/api";
import type { Context } from "./context.ts";

/** Timeout of a read that waits for a revision that the server has not seen yet. */
const waitTimeout = 3000;

/** Resolves when the caches are at least at `revision`. Throws 504 after the timeout. */
export async function waitForRevision(context: Context, revision: number): Promise<void> {
  const { storage } = context.registry;
  const soon = storage.reached(revision, waitTimeout);
  // The store may have the revision without an event in its watch. A failure ends in the timeout.
  if (storage.revision < revision) storage.current().catch(() => {});
  if (await soon) return;
  throw StatusError.of(
    "Timeout",
    `Timeout: Too large resource version: ${revision}, current: ${storage.revision}`,
    {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
  );
}
