import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { cleanUpRun, deleteData, isAlive, removeProcessFile, runningProcess } from "@dray/cluster";
import { listOfOthers, type TargetFlags, targetDespiteDamage } from "../../options/target.ts";
import { withProgress } from "../../terminal/progress.ts";
import { remark, say } from "../../terminal/verbosity.ts";

/**
 * Maximum time for a cluster to end its pods before it is killed, in milliseconds; pods have 30 seconds by
 * default.
 */
const stopTimeout = 60_000;

/**
 * Stops the cluster if it runs, and removes the remains of a crash: processes, sockets, mounts, CDI files.
 */
export async function down(options: TargetFlags & { deleteData?: boolean }): Promise<void> {
  const { name, layout } = targetDespiteDamage(options);
  const crashed = existsSync(layout.processFile);
  const running = runningProcess(layout.processFile);
  await withProgress("Stopping the pods and the cluster", async () => {
    if (running !== undefined) {
      process.kill(running.pid, "SIGTERM");
      const deadline = Date.now() + stopTimeout;
      while (isAlive(running)) {
        if (Date.now() > deadline) process.kill(running.pid, "SIGKILL");
        await sleep(20);
      }
    }
    await cleanUpRun(layout);
  });
  removeProcessFile(layout.processFile);
  const known = existsSync(layout.configFile);
  if (options.deleteData && known)
    await deleteData(layout, name, (message) => remark(`warning: ${message}\n`));
  const what =
    running !== undefined
      ? "has stopped"
      : crashed
        ? "had ended without stopping: what it left running is removed"
        : known
          ? "was not running"
          : "does not exist";
  const data = options.deleteData ? "its data is deleted" : "its data stays";
  say(`the cluster in ${layout.dataDir} ${what}${known ? `; ${data}` : ""}\n`);
  if (!known) say(listOfOthers(options));
}
