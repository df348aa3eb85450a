import type { Clock } from "@dray/client";
import { EventLoopShare } from "../../base/event-loop-share.ts";
import type { LogLine, ReadLogOptions } from "../service.ts";
import type { LoggedContainer } from "./attach.ts";
import { LogReader } from "./logs.ts";

/** Reads the lines of a log, as `RuntimeService.readLog`. */
export async function* followLog(
  logPath: string,
  container: LoggedContainer | undefined,
  clock: Clock,
  { follow, tail }: ReadLogOptions = {},
): AsyncGenerator<readonly LogLine[]> {
  const reader = new LogReader(logPath, clock.now);
  const unwatch = container?.onRotation((to) => reader.rotated(to));
  try {
    if (tail !== undefined) await reader.skipTo(tail);
    while (follow !== undefined && !follow.aborted && container?.launched && !container.exited) {
      // Listens before it reads, so that no change in between is missed.
      let wake = (): void => {};
      const more = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const unlisten = container.onLog(wake);
      follow.addEventListener("abort", wake, { once: true });
      try {
        yield* inSteps(reader.read(false));
        if (!container.exited) await more;
      } finally {
        unlisten();
        follow.removeEventListener("abort", wake);
      }
    }
    yield* inSteps(reader.read(true));
  } finally {
    unwatch?.();
    reader.close();
  }
}

async function* inSteps<T>(values: Iterable<T>): AsyncGenerator<T> {
  const share = new EventLoopShare(1);
  for (const value of values) {
    yield value;
    await share.step();
  }
}
