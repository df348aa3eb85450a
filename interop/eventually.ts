import { setTimeout as sleep } from "node:timers/promises";
import { StatusError } from "@dray/api";
import { ConnectionError } from "@dray/client";

/** Seconds that anything a controller has to do may take. */
const patience = 60;

/**
 * Looks again until `check` answers something else than `undefined` or false, and answers that. Objects that are not there
 * yet are waited for. Rejects after a minute, with `what` and the last failure.
 */
export async function eventually<T>(
  what: string,
  check: () => Promise<T | undefined | false>,
  seconds = patience,
): Promise<T> {
  const end = performance.now() + seconds * 1000;
  let last = "";
  for (;;) {
    try {
      const found = await check();
      if (found !== undefined && found !== false) return found;
      last = "";
    } catch (error) {
      if (!(error instanceof ConnectionError) && !(error instanceof StatusError && error.code === 404))
        throw error;
      last = `: ${error.message}`;
    }
    if (performance.now() > end) throw new Error(`not within ${seconds} s: ${what}${last}`);
    await sleep(100);
  }
}

/** Resolves to the code and reason with which `attempt` was refused; rejects if it was not. */
export async function refusal(what: string, attempt: Promise<unknown>): Promise<StatusError> {
  try {
    await attempt;
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
  throw new Error(`${what} was not refused`);
}
