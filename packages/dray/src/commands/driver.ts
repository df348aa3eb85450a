import { UsageError } from "../failure.ts";

const drivers: ReadonlyMap<string, () => Promise<unknown>> = new Map([
  ["example", () => import("@dray/driver-example/main")],
]);

/** Runs a driver in this process, as its own program would; it reads its environment. */
export async function driver(name: string): Promise<void> {
  const start = drivers.get(name);
  if (start === undefined)
    throw new UsageError(`unknown driver ${name}: must be one of ${[...drivers.keys()].join(", ")}`);
  await start();
}
