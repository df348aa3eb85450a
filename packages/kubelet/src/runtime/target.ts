import type { ContainerConfig } from "./config.ts";
import { RuntimeError } from "./error.ts";

/** Returns the first process of the container whose process name space another one joins, if it runs. */
export function runningTarget<T>({ name, target }: ContainerConfig, process: T | undefined): T {
  if (process !== undefined) return process;
  throw new RuntimeError(
    "RunContainerError",
    `container "${name}" cannot join the processes of container "${target?.name}", which does not run`,
  );
}
