import { AssertionError } from "node:assert";
import { setTimeout as sleep } from "node:timers/promises";

/** Many test files run at a time, on machines of any speed. */
const defaultTimeout = 60_000;
const firstInterval = 2;
const maxInterval = 100;

/** Not yet what the test waits for. */
type NotYet = undefined | null | false;

/**
 * Calls `check` until it returns something other than `undefined`, `null` and `false`, and returns that. A
 * check that throws is tried again, because what it reads may not exist yet; an assertion that fails in it
 * rejects at once, because what it says must always hold.
 *
 * @param what - what the test waits for, for the error; a function is called when it is over
 * @param timeout - milliseconds until it rejects, with the last error of `check` as its cause
 */
export async function eventually<T>(
  what: string | (() => string),
  check: () => T | NotYet | Promise<T | NotYet>,
  timeout = defaultTimeout,
): Promise<T> {
  const { value } = await poll(what, timeout, async () => {
    try {
      const value = await check();
      return value === undefined || value === null || value === false ? {} : { value };
    } catch (error) {
      if (error instanceof AssertionError) throw error;
      return { error };
    }
  });
  return value;
}

/**
 * Calls `check` until it does not throw, and returns what it returns: for checks that are assertions. `what`
 * is for those whose error does not say what the test waits for.
 */
export function eventuallyPasses<T>(
  ...args:
    | [what: string | (() => string), check: () => T | Promise<T>, timeout?: number]
    | [check: () => T | Promise<T>, timeout?: number]
): Promise<T> {
  if (typeof args[1] !== "function") {
    const [check, timeout] = args as [check: () => T | Promise<T>, timeout?: number];
    return passes("an assertion", check, timeout);
  }
  const [what, check, timeout] = args as [string | (() => string), () => T | Promise<T>, number?];
  return passes(what, check, timeout);
}

async function passes<T>(
  what: string | (() => string),
  check: () => T | Promise<T>,
  timeout = defaultTimeout,
): Promise<T> {
  const { value } = await poll(what, timeout, async () => {
    try {
      return { value: await check() };
    } catch (error) {
      return { error };
    }
  });
  return value;
}

/** Outcome of one try. */
type Outcome<T> = { value: T } | { value?: never; error?: unknown };

async function poll<T>(
  what: string | (() => string),
  timeout: number,
  attempt: () => Promise<Outcome<T>>,
): Promise<{ value: T }> {
  const end = performance.now() + timeout;
  for (let interval = firstInterval; ; interval = Math.min(interval * 1.5, maxInterval)) {
    const outcome = await attempt();
    if ("value" in outcome) return outcome as { value: T };
    if (performance.now() > end) {
      const { error } = outcome;
      const awaited = typeof what === "string" ? what : what();
      const reason = error instanceof Error ? `: ${error.message}` : "";
      throw new Error(`not within ${timeout / 1000} s: ${awaited}${reason}`, { cause: error });
    }
    await sleep(interval);
  }
}

/**
 * Rejects if `check` returns false within `milliseconds`. For what must not happen where no clock can be
 * moved: a real wait, so keep it short, and prefer something that comes after what must not happen.
 */
export async function holdsFor(
  what: string,
  check: () => boolean | Promise<boolean>,
  milliseconds: number,
): Promise<void> {
  const end = performance.now() + milliseconds;
  do {
    if (!(await check()))
      throw new AssertionError({ message: `did not hold for ${milliseconds} ms: ${what}` });
    await sleep(holdsInterval);
  } while (performance.now() < end);
}

const holdsInterval = 10;

/**
 * Waits for `milliseconds` of real time: the last resort, where there is neither a condition to wait for nor
 * a clock to move.
 *
 * @param _reason - why nothing else will do; for the reader
 */
export const realTime = (milliseconds: number, _reason: string): Promise<void> => sleep(milliseconds);
