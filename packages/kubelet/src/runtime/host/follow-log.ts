import type { Clock } from "@dray/client";
import type { LogLine } from "../service.ts";
import type { LoggedContainer } from "./attach.ts";
import { LogReader } from "./logs.ts";

/** Reads the lines of a log. With `follow`, waits for more until it aborts or the container has ended. */
export async function* followLog(
  logPath: string,
  container: LoggedContainer | undefined,
  follow: AbortSignal | undefined,
  clock: Clock,
): AsyncGenerator<LogLine> {
  const reader = new LogReader(logPath, clock.now);
  const unwatch = follow === undefined ? () => {} : container?.onRotation((to) => reader.rotated(to));
  try {
    while (follow !== undefined && !follow.aborted && container?.launched && !container.exited) {
      // Listens before it reads, so that no change in between is missed.
      let wake = (): void => {};
      const more = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const unlisten = container.onLog(wake);
      follow.addEventListener("abort", wake, { once: true });
      yield* reader.read(false);
      if (!container.exited) await more;
      unlisten();
      follow.removeEventListener("abort", wake);
    }
    yield* reader.read(true);
  } finally {
    unwatch?.();
    reader.close();
  }
}
