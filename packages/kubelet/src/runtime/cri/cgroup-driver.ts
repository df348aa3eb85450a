import { RpcError } from "@dray/rpc";
import { CgroupDriver as CriCgroupDriver } from "@dray/rpc/cri/v1";
import type { CgroupDriver } from "./cgroups.ts";
import { type CriConnection, requestTimeout } from "./connection.ts";

/** Asks the runtime for its cgroup driver; upstream's default for runtimes without the method. */
export async function cgroupDriver({ runtime }: CriConnection): Promise<CgroupDriver> {
  try {
    const { linux } = await runtime.runtimeConfig({}, { timeout: requestTimeout });
    return linux?.cgroupDriver === CriCgroupDriver.SYSTEMD ? "systemd" : "cgroupfs";
  } catch (error) {
    if (RpcError.is(error, "Unimplemented")) return "cgroupfs";
    throw error;
  }
}
