import { outliveReader } from "../terminal/guard-output.ts";

/**
 * Resolves with the signal that requests the end of this process, and keeps it alive until then. Once
 * `unwanted` aborts, signals have their default effect and the process is not kept alive.
 */
export function endRequested(unwanted?: AbortSignal): Promise<NodeJS.Signals> {
  outliveReader();
  return new Promise((resolve) => {
    const alive = setInterval(() => {}, 2 ** 30);
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      const end = (): void => {
        clearInterval(alive);
        resolve(signal);
      };
      process.once(signal, end);
      unwanted?.addEventListener("abort", () => process.off(signal, end), { once: true });
    }
    unwanted?.addEventListener("abort", () => clearInterval(alive), { once: true });
  });
}
