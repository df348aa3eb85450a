import type { RuntimeFactory } from "../factory.ts";
import type { CriRuntimeOptions } from "./options.ts";
import { CriRuntime } from "./runtime.ts";

/** Settings of `criRuntime`. */
export type CriRuntimeSettings = Pick<CriRuntimeOptions, "endpoint" | "cgroupRoot">;

/** A runtime that speaks CRI v1 on a socket. The agent must see the machine's paths as that runtime does. */
export function criRuntime(settings: CriRuntimeSettings): RuntimeFactory {
  return ({ nodeName, clock, log }) => {
    const service = new CriRuntime({ ...settings, node: nodeName, clock, log });
    return { service, images: service.images };
  };
}
