import { StatusError } from "@dray/api";
import type { Context } from "./context.ts";

/** How long a reader waits for a revision that the server has not seen yet. */
const waitMilliseconds = 3000;

/** Resolves when the caches are at least at `revision`. Throws 504 where that does not happen soon. */
export async function reach(context: Context, revision: number): Promise<void> {
  const { storage } = context.registry;
  if (await storage.reached(revision, waitMilliseconds)) return;
  throw StatusError.of(
    "Timeout",
    `Timeout: Too large resource version: ${revision}, current: ${storage.revision}`,
    {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
  );
}
