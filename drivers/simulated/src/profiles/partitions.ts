import { existsSync } from "node:fs";
import { join } from "node:path";
import { sleep } from "@dray/client";
import type { ProfileChoice } from "../fleet/profile-choice.ts";
import type { Profile, ProfileContext } from "./profile.ts";
import { DeviceFiles } from "./state.ts";

/** A partition that exists on the simulated hardware. */
interface Partition {
  readonly pool: string;
  readonly device: string;
  readonly partitionOf: string;
  /** UID of the claim that it was created for. */
  readonly claim: string;
}

/**
 * Hardware whose partitions are made when they are needed: a device that is a partition is created at prepare
 * and destroyed at unprepare. Leftovers of a crash are destroyed at the start.
 */
export function partitions(
  { createTime }: Extract<ProfileChoice, { name: "partitions" }>,
  { folder, clock, log }: ProfileContext,
): Profile {
  const files = new DeviceFiles<Partition>(join(folder, "partitions"));
  return {
    async start() {
      for (const { pool, device, claim } of await files.all()) {
        // The SDK's checkpoint of a claim is there before its prepare runs, and until its unprepare has
        // ended.
        if (existsSync(join(folder, "claims", `${claim}.json`))) continue;
        log.warn({ device: `${pool}/${device}`, claim }, "Destroying a partition that no claim holds");
        await files.remove(pool, device);
      }
    },
    async prepare(claim, { allocated, device: known, prefix }, signal) {
      const partitionOf = known?.partitionOf;
      if (partitionOf === undefined) return {};
      const { pool, device, adminAccess } = allocated.result;
      const edits = { env: [`${prefix}_PARTITION_OF=${partitionOf}`] };
      // Admin access creates nothing.
      if (adminAccess === true) return edits;
      const existing = await files.read(pool, device);
      if (existing?.claim === claim.uid) return edits;
      if (existing !== undefined)
        throw new Error(
          `partition ${pool}/${device} exists already: it was created for the claim with UID ${existing.claim}`,
        );
      await sleep(clock, createTime, signal);
      if (signal.aborted) throw new Error(`partition ${pool}/${device} was not created in time`);
      await files.write({ pool, device, partitionOf, claim: claim.uid });
      log.info({ device: `${pool}/${device}`, partitionOf }, "Created a partition");
      return edits;
    },
    async unprepare({ uid }, { allocated }) {
      const { pool, device } = allocated.result;
      if ((await files.read(pool, device))?.claim !== uid) return;
      await sleep(clock, createTime);
      await files.remove(pool, device);
      log.info({ device: `${pool}/${device}` }, "Destroyed a partition");
    },
  };
}
