import { outliveReader } from "./guard-output.ts";

/** Resolves with the signal that asks this process to end, and keeps it alive until then. */
export function endRequested(): Promise<NodeJS.Signals> {
  outliveReader();
  return new Promise((resolve) => {
    const alive = setInterval(() => {}, 2 ** 30);
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => {
        clearInterval(alive);
        resolve(signal);
      });
    }
  });
}
