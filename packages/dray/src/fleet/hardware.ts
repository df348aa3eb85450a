import { existsSync, rmSync } from "node:fs";
import type { Log } from "@dray/client";
import type { ClusterConfig, Layout, NodeHardware } from "@dray/cluster";
import { fleetOf } from "./file.ts";
import { installFleet, labelNodes, uninstallFleet } from "./install.ts";
import { SimulationProcess } from "./process.ts";

/** The hardware of a cluster that was made of a fleet file; for one that was once, what removes the rest; else undefined. */
export function simulatedHardware(layout: Layout, config: ClusterConfig, log: Log): NodeHardware | undefined {
  const fleet = fleetOf(layout, config);
  const { fleet: file, kubernetesVersion, featureGates } = config;
  if (fleet === undefined || file === undefined)
    return existsSync(layout.fleetFile) ? formerFleet(layout) : undefined;
  return {
    capacity: (node) => fleet.node(node)?.capacity,
    async start(admin, nodes) {
      const stop = new AbortController();
      await installFleet(admin, fleet);
      labelNodes(admin, fleet, log, stop.signal);
      const { fleetFile: path, driversKubeconfig: kubeconfig } = layout;
      const own = nodes.map(({ name, rootDir }) => ({ name, rootDir }));
      const run = {
        order: "run",
        file,
        path,
        kubernetesVersion,
        featureGates,
        kubeconfig,
        nodes: own,
      } as const;
      const simulation = new SimulationProcess(layout, run, log);
      return {
        async stop() {
          stop.abort();
          await simulation.stop();
        },
      };
    },
  };
}

function formerFleet(layout: Layout): NodeHardware {
  return {
    capacity: () => undefined,
    async start(admin) {
      await uninstallFleet(admin);
      rmSync(layout.fleetFile, { force: true });
      return { stop: async () => {} };
    },
  };
}
