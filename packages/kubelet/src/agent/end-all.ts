import type { Log } from "@dray/client";
import type { DraManager } from "../dra/manager.ts";
import type { Probes } from "../prober/probes.ts";
import type { RuntimeService } from "../runtime/service.ts";

/** Grace period in milliseconds of containers of a node that stops for good. */
const gracePeriod = 2000;

export interface EndedParts {
  readonly runtime: RuntimeService;
  readonly dra: DraManager;
  readonly probes: Probes;
  readonly log: Log;
}

/** Ends all pods of a node: those with claims first, since drivers, which are pods too, unprepare them. */
export async function endAll({ runtime, dra, probes, log }: EndedParts): Promise<void> {
  const containers = await runtime.listContainers();
  for (const { id } of containers) probes.forget(id);
  const holders = dra.podUIDs();
  const sandboxes = await runtime.listPodSandboxes();
  // Waiting for a program that ignores the end would only hold up the node's.
  const graceOf = (id: string): number => (runtime.heedsTermination?.(id) === false ? 0 : gracePeriod);
  const end = async (ids: readonly string[]): Promise<void> => {
    await Promise.all(
      containers
        .filter(({ sandboxId }) => ids.includes(sandboxId))
        .map(({ id }) => runtime.stopContainer(id, graceOf(id))),
    );
    await Promise.all(ids.map((id) => runtime.stopPodSandbox(id)));
  };
  await end(sandboxes.filter(({ config }) => holders.has(config.uid)).map(({ id }) => id));
  await Promise.all(
    [...holders].map((uid) =>
      dra.unprepare(uid).catch((error: unknown) => {
        log.warn({ pod: uid, err: error }, "claims are still prepared while the node stops");
      }),
    ),
  );
  await end(sandboxes.map(({ id }) => id));
}
