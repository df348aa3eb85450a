import type { Clock } from "@dray/client";
import type { HostContainer } from "./container.ts";

/** Sends SIGTERM, and SIGKILL after the grace period. Resolves when no process is left. */
export async function stopContainer(
  container: HostContainer,
  graceMilliseconds: number,
  clock: Clock,
): Promise<void> {
  if (!container.launched) return;
  if (!container.exited && graceMilliseconds > 0) {
    container.signal("SIGTERM");
    let cancel = (): void => {};
    const expired = new Promise<void>((resolve) => {
      cancel = clock.after(graceMilliseconds, resolve);
    });
    await Promise.race([container.ended(), expired]);
    cancel();
  }
  await container.kill();
}
