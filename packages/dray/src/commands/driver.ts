import { UsageError } from "../failure.ts";

const drivers: Readonly<Record<string, () => Promise<unknown>>> = {
  example: () => import("@dray/driver-example/main"),
};

/** Runs a driver in this process, as its own program would; it reads its environment. */
export async function driver(name: string): Promise<void> {
  const start = drivers[name];
  if (start === undefined)
    throw new UsageError(`unknown driver ${name}: must be one of ${Object.keys(drivers).join(", ")}`);
  await start();
}
