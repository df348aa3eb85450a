import { ClientMetrics, systemClock } from "@dray/client";
import type { Controllers } from "@dray/controllers";
import { bindAddressOption, featuresOption, wholeNumber } from "../../options/values.ts";
import { type ComponentOptions, component } from "../../process/component.ts";
import { serveHealth } from "../../process/health-server.ts";
import { say } from "../../terminal/verbosity.ts";
import { type ControllerFlags, controllerOptions } from "./options.ts";

export interface ControllerManagerOptions extends ComponentOptions, ControllerFlags {
  readonly port?: string;
  readonly bindAddress: string;
}

export async function controllerManager(options: ControllerManagerOptions): Promise<void> {
  const features = featuresOption(options);
  const host = bindAddressOption(options.bindAddress);
  const port = options.port === undefined ? undefined : wholeNumber("--port", options.port, 0, 65535);
  const { rootCA, ...given } = await controllerOptions(options);
  const { startControllers } = await import("@dray/controllers");
  const metrics = port === undefined ? undefined : new ClientMetrics(() => performance.now());
  let running: Controllers | undefined;
  // As upstream, it is ready while it waits for the lease.
  const health =
    port === undefined
      ? undefined
      : await serveHealth({
          host,
          port,
          metrics: () => `${metrics?.text() ?? ""}${running?.metrics() ?? ""}`,
        });
  if (health !== undefined) say(`metrics and health are at ${health.url}\n`);
  try {
    await component(
      "kube-controller-manager",
      options,
      async ({ client, log, signal, ca }) => {
        running = await startControllers({
          client,
          log,
          signal,
          clock: systemClock,
          random: Math.random,
          features,
          ...given,
          rootCA: rootCA ?? ca ?? "",
        });
        return running;
      },
      { metrics },
    );
  } finally {
    await health?.close();
  }
}
