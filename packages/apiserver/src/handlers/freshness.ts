import { StatusError } from "@dray/api";
import type { Context } from "./context.ts";

/** How long a reader waits for a revision that the server has not seen yet. */
const waitMilliseconds = 3000;

/** Resolves when the caches are at least at `revision`. Throws 504 where that does not happen soon. */
export async function reach(context: Context, revision: number): Promise<void> {
  const { storage } = context.registry;
  const soon = storage.reached(revision, waitMilliseconds);
  // The revision may be one that the store has and of which its watch says nothing. What fails, time tells.
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
