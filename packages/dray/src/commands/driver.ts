import { UsageError } from "../failure.ts";
import { didYouMean } from "../similar.ts";

const drivers: ReadonlyMap<string, () => Promise<unknown>> = new Map([
  ["example", () => import("@dray/driver-example/main")],
]);

/** Runs a driver in this process, as its own program would; it reads its environment. */
export async function driver(name: string): Promise<void> {
  const start = drivers.get(name);
  if (start === undefined) {
    const known = [...drivers.keys()];
    throw new UsageError(
      `unknown driver ${name}: ${didYouMean(name, known) ?? `must be one of ${known.join(", ")}`}`,
    );
  }
  await start();
}
