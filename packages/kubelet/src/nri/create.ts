import { join } from "node:path";
import { cdiRegistry } from "@dray/cdi";
import type { RuntimeFactory } from "../runtime/factory.ts";
import { withNri } from "./runtime.ts";

/** A runtime with NRI, which the node serves at `/var/run/nri/nri.sock`. */
export function nriRuntime(inner: RuntimeFactory): RuntimeFactory {
  return (node) => {
    const { paths, clock, newId, log } = node;
    return withNri(inner(node), {
      socketPath: join(paths.root, "run/nri/nri.sock"),
      folder: join(paths.root, "var/lib/dray/nri"),
      cdi: cdiRegistry(paths.cdi),
      clock,
      newId,
      log,
    });
  };
}
