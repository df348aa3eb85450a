import { spawn } from "node:child_process";
import { readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RuntimeError } from "../error.ts";
import { makeInput } from "../host/attach.ts";
import { toolEnvironment } from "../host/environment.ts";
import { makeLog } from "../host/logs.ts";
import { bootId } from "../host/processes.ts";
import { writeRecord } from "../host/records.ts";
import { terminalName } from "../host/scripts.ts";
import { inTerminal, shellLine } from "../host/terminal.ts";
import type { OciContainer } from "./container.ts";
import { moveInterface } from "./network/devices.ts";
import type { Started } from "./options.ts";
import type { Runc } from "./runc.ts";
import { noteName, traceNames, wrapperName } from "./scripts.ts";
import type { OciSpec } from "./spec.ts";

/**
 * Runs the program of a container under a shell that writes its output and its exit code to files.
 * `runtimeDirectory` has the scripts. Rejects with RuntimeError if the program cannot be started.
 */
export async function launchContainer(
  container: OciContainer,
  runtimeDirectory: string,
  started: Started,
  runc: Runc,
): Promise<void> {
  const { directory, record } = container;
  const { config, id } = record;
  if (container.launched)
    throw new RuntimeError("RunContainerError", `container "${config.name}" has been started before`);
  await moveInterfaces(container, started);
  makeLog(config.logPath);
  const logSize = statSync(config.logPath).size;
  const words = runc.words(directory);
  if (config.stdin || config.tty) await makeInput(directory, undefined);
  if (config.tty) {
    const note = ["/bin/sh", join(runtimeDirectory, noteName), join(directory, traceNames.runner)];
    const run = ["run", "--keep", "--bundle", directory, "--pid-file", join(directory, traceNames.pid), id];
    const line = shellLine(inTerminal([...note, ...words, ...run]));
    writeFileSync(join(directory, terminalName), `exec ${line}\n`, { mode: 0o600 });
  }
  container.record = { ...record, bootId: bootId() };
  writeRecord(join(directory, "container.json"), JSON.stringify(container.record));
  container.watch();
  const wrapper = join(runtimeDirectory, wrapperName);
  const oom = started.cgroups.oomFile(record.cgroup);
  await runWrapper(container, [wrapper, directory, config.logPath, oom, id, ...words]);
  const status = container.status();
  if (status.reason !== "StartError") return;
  // The program has printed nothing: this is output of runc.
  truncateSync(config.logPath, logSize);
  throw new RuntimeError("RunContainerError", status.message ?? "the container could not be started");
}

/** Resolves when the program has started or failed to. */
async function runWrapper(container: OciContainer, args: readonly string[]): Promise<void> {
  const child = spawn("/bin/sh", args, { cwd: "/", env: toolEnvironment, detached: true, stdio: "ignore" });
  const failed = new Promise<never>((_, reject) => {
    child.once("error", (error) => {
      container.refresh(true);
      reject(new RuntimeError("RunContainerError", `cannot start a shell: ${error.message}`));
    });
  });
  child.once("exit", () => container.refresh(true));
  await Promise.race([container.started(), failed]);
  child.unref();
}

/** Moves network interfaces of CDI devices into the pod, which current versions of runc do not do. */
async function moveInterfaces(
  { directory, record }: OciContainer,
  { sandboxes, node }: Started,
): Promise<void> {
  const path = join(directory, "config.json");
  // Written by this program.
  const spec = JSON.parse(readFileSync(path, "utf8")) as OciSpec;
  const { netDevices, ...linux } = spec.linux;
  const wanted = Object.entries(netDevices ?? {});
  if (wanted.length === 0) return;
  const { network } = sandboxes.namespaces(record.sandboxId);
  const ofNode = sandboxes.get(record.sandboxId)?.config.hostNetwork ?? false;
  try {
    for (const [name, { name: newName }] of wanted) {
      if (network === undefined || ofNode)
        throw new Error(
          `the interface ${name} of a CDI device cannot be given to a pod with the network of the node`,
        );
      await moveInterface({ name, newName: newName || name }, network, node.network);
    }
  } catch (error) {
    const message = `container "${record.config.name}": ${(error as Error).message}`;
    throw new RuntimeError("RunContainerError", message, { cause: error });
  }
  writeFileSync(path, JSON.stringify({ ...spec, linux }), { mode: 0o600 });
}
