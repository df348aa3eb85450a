import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { processesOf } from "../harness.ts";
import type { ChaosCluster } from "./cluster.ts";
import { escapeSeconds } from "./pods.ts";

/** Returns leftovers on the nodes after all pods of the run are gone; the driver's own pods still run. */
export function leftOnNodes(cluster: ChaosCluster, keptPods: ReadonlySet<string>): string[] {
  return cluster.nodes.flatMap((node) => {
    const root = cluster.root(node);
    const folder = (path: string): string[] => {
      try {
        return readdirSync(join(root, path));
      } catch {
        return [];
      }
    };
    const pods = folder("var/lib/kubelet/pods").filter((uid) => !keptPods.has(uid));
    const logs = folder("var/log/pods").filter((name) => !keptPods.has(name.split("_")[2] ?? ""));
    const specs = folder("var/run/cdi").filter((name) => !name.includes("common"));
    const kept = keptOn(root, keptPods);
    const sandboxes = folder("var/lib/dray/sandboxes").length - kept;
    const containers = kept > 0 ? [] : folder("var/lib/dray/containers");
    const plugins = folder("var/lib/kubelet/plugins");
    const states = plugins.flatMap((driver) =>
      ["claims", "partitions"].flatMap((kind) =>
        folder(`var/lib/kubelet/plugins/${driver}/${kind}`).map((name) => `${driver}/${kind}/${name}`),
      ),
    );
    return [
      ...pods.map((uid) => `${node}: the folder of pod ${uid}`),
      ...logs.map((name) => `${node}: the logs ${name}`),
      ...specs.map((name) => `${node}: the CDI spec ${name}`),
      ...(sandboxes > 0 ? [`${node}: ${sandboxes} sandboxes`] : []),
      ...containers.map((id) => `${node}: container ${id}`),
      ...states.map((name) => `${node}: the state ${name} of a driver`),
      ...preparedClaims(root).map((claim) => `${node}: claim ${claim} is still prepared`),
    ];
  });
}

function keptOn(root: string, keptPods: ReadonlySet<string>): number {
  try {
    return readdirSync(join(root, "var/lib/kubelet/pods")).filter((uid) => keptPods.has(uid)).length;
  } catch {
    return 0;
  }
}

/** Names of claims in the checkpoint of the node's agent. */
function preparedClaims(root: string): string[] {
  let text: string;
  try {
    text = readFileSync(join(root, "var/lib/kubelet/dra_manager_state"), "utf8");
  } catch {
    return [];
  }
  return [...text.matchAll(/\\?"claimName\\?":\s*\\?"([^"\\]+)/gi)].map(([, name]) => name!);
}

/** Processes that left their pods. */
export function escapedProcesses(): string[] {
  return processesOf(`/bin/sleep ${escapeSeconds}`);
}
