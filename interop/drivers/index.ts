import { startCluster, type TestCluster } from "@dray/cluster/testing";
import { eventually } from "../eventually.ts";
import { missingPeers, type Peer } from "../peers.ts";
import type { Outcome } from "../play.ts";
import { sampleDevicePlugin } from "./sample-device-plugin.ts";

/** A driver or device plugin of others, and what must come of it. Rejects if it does not. */
export interface DriverTrial {
  readonly name: string;
  /** The program; it is not changed for Dray. */
  readonly program: Peer;
  run(cluster: TestCluster): Promise<void>;
}

const trials: readonly DriverTrial[] = [sampleDevicePlugin];

/** Runs the programs whose names match in pods of Dray's node agent, each on a cluster of its own. */
export async function runDrivers(
  only: RegExp | undefined,
  print: (text: string) => void,
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const { name, program, run } of trials) {
    if (!(only?.test(name) ?? true)) continue;
    if (missingPeers([program]).length > 0) {
      print(`${name}: not run: peers missing: ${program} (interop/build builds them)`);
      continue;
    }
    const began = performance.now();
    let failure: string | undefined;
    try {
      await using cluster = await startCluster();
      await eventually("the service account of pods", async () =>
        cluster.client.text("GET", "/api/v1/namespaces/default/serviceaccounts/default"),
      );
      await run(cluster);
    } catch (error) {
      failure = (error as Error).stack ?? String(error);
    }
    const seconds = (performance.now() - began) / 1000;
    print(`${name}: ${failure === undefined ? "ok" : `FAILED: ${failure}`} (${seconds.toFixed(1)} s)`);
    outcomes.push({ name, seconds, ...(failure === undefined ? {} : { failure }) });
  }
  return outcomes;
}
