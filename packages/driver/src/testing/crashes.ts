import assert from "node:assert/strict";
import { type CrashStep, crashSteps } from "../claims/steps.ts";
import type { Driver } from "../types/driver.ts";
import type { ClaimOptions } from "./claims.ts";
import { type DriverNode, type DriverNodeOptions, startDriverNode } from "./node.ts";

/**
 * Lets a driver die at each step of preparing and unpreparing a claim, one after the other, each on a node of
 * its own, and checks what must hold: started again, it prepares the claim with the same answer and the same
 * container as if nothing had happened, prepares no other claim with the same devices meanwhile, unprepares
 * it, also twice, and leaves no file; the devices can be prepared for another claim then. Rejects with an
 * AssertionError that names the step.
 *
 * Effects of the driver outside of its process (partitions, processes) are checked by the author: in
 * `afterCrash`, which is called at the end of each step with nothing prepared.
 */
export async function checkCrashes<P>(
  make: () => Driver<P>,
  claim: ClaimOptions,
  options: DriverNodeOptions & { readonly afterCrash?: (step: CrashStep) => Promise<void> | void } = {},
): Promise<void> {
  const expected = await undisturbed(make, claim, options);
  for (const step of crashSteps) {
    try {
      await crashOnce(() => startDriverNode(make, options), claim, step, expected);
      await options.afterCrash?.(step);
    } catch (error) {
      throw new assert.AssertionError({
        message: `crash at ${step}: ${(error as Error).message}`,
        ...(error instanceof assert.AssertionError ? { actual: error.actual, expected: error.expected } : {}),
      });
    }
  }
}

/** Fixed, so that responses can be compared. */
const uidPattern = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

async function undisturbed<P>(make: () => Driver<P>, claim: ClaimOptions, options: DriverNodeOptions) {
  const node = await startDriverNode(make, options);
  try {
    const one = await node.claim(claim);
    const seen = await observe(node.folder, await one.prepare());
    await one.unprepare();
    assert.deepEqual(await node.claimFiles(), [], "files are left after unprepare");
    return seen;
  } finally {
    await node.close();
  }
}

/**
 * Results for the kubelet and a container, without the parts that differ between nodes: the UID of the claim
 * and the folder.
 */
async function observe(
  folder: string,
  prepared: { devices: readonly object[]; container(): Promise<object> },
): Promise<unknown> {
  const text = JSON.stringify([prepared.devices, await prepared.container()]);
  return JSON.parse(text.replaceAll(folder, "<folder>").replaceAll(uidPattern, "<uid>"));
}

async function crashOnce(
  start: () => Promise<DriverNode>,
  options: ClaimOptions,
  step: CrashStep,
  expected: unknown,
): Promise<void> {
  const node = await start();
  try {
    const claim = await node.claim(options);
    if (step.startsWith("unprepare")) await claim.prepare();
    node.crashAt(step);
    await assert.rejects(
      step.startsWith("unprepare") ? claim.unprepare() : claim.prepare(),
      /the driver dies/,
    );
    await node.start();
    assert.deepEqual(await observe(node.folder, await claim.prepare()), expected, "it is prepared otherwise");
    const exclusive = options.devices.some(
      ({ adminAccess, shareID }) => !adminAccess && shareID === undefined,
    );
    if (exclusive) {
      const rival = await node.claim({ ...options, name: "rival" });
      await assert.rejects(rival.prepare(), /is still prepared for claim/, "a device is prepared twice");
      await rival.unprepare();
    }
    await claim.unprepare();
    await claim.unprepare();
    assert.deepEqual(await node.claimFiles(), [], "files are left");
    const next = await node.claim({ ...options, name: "next" });
    await next.prepare();
    await next.unprepare();
    assert.deepEqual(await node.claimFiles(), [], "files are left of the next claim");
  } finally {
    await node.close();
  }
}
