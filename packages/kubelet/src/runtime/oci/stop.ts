import type { Clock } from "@dray/client";
import { bootId } from "../host/processes.ts";
import type { CgroupTree } from "./cgroups.ts";
import type { OciContainer } from "./container.ts";
import type { Runc } from "./runc.ts";

export interface StopTools {
  readonly runc: Runc;
  readonly cgroups: CgroupTree;
  readonly clock: Clock;
}

/** Milliseconds that a container may take to end after a kill. */
const killTimeout = 2000;

/**
 * Sends the stop signal, and kills the container after the grace period. Resolves when nothing of it runs.
 */
export async function stopContainer(
  container: OciContainer,
  graceMilliseconds: number,
  tools: StopTools,
): Promise<void> {
  if (!container.launched) return;
  container.refresh();
  if (!container.exited && graceMilliseconds > 0) {
    await tools.runc.kill(container.record.id, signalName(container.record.stopSignal));
    await endedWithin(container, graceMilliseconds, tools.clock);
  }
  await killContainer(container, tools);
}

/** Ends everything of a container. Resolves when nothing is left. */
export async function killContainer(
  container: OciContainer,
  { runc, cgroups, clock }: StopTools,
): Promise<void> {
  const { id, cgroup } = container.record;
  if (!container.launched || container.done) return;
  if (container.record.bootId !== bootId()) return container.noteDone();
  container.refresh();
  if (container.running) {
    await runc.kill(id, "KILL");
    await endedWithin(container, killTimeout, clock);
  }
  // If its shell was killed, the container has ended without a clean-up.
  while (!container.exited && !container.released) {
    await runc.delete(id);
    await endedWithin(container, killTimeout, clock);
  }
  if (container.released) return;
  cgroups.remove(cgroup);
  container.noteDone();
}

async function endedWithin(container: OciContainer, milliseconds: number, clock: Clock): Promise<void> {
  let cancel = (): void => {};
  const expired = new Promise<void>((resolve) => {
    cancel = clock.after(milliseconds, resolve);
  });
  await Promise.race([container.ended(), expired]);
  cancel();
  container.refresh();
}

/** The stop signal of an image: a name or a number. */
function signalName(text: string): string {
  const name = text.trim().toUpperCase();
  return /^(SIG)?[A-Z0-9+-]+$/.test(name) ? name : "SIGTERM";
}
