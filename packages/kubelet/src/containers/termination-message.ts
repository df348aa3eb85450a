import { closeSync } from "node:fs";
import { readEndSync } from "@dray/files";
import { openFile } from "../base/open-file.ts";

/** `MaxContainerTerminationMessageLength`, in bytes. */
const maxBytes = 4096;

/**
 * Returns the last bytes of a termination message file; "" if it is empty. Without mount name spaces the
 * container can replace the file: for one that cannot be read, the message says why.
 *
 * Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, getTerminationMessage.
 */
export function terminationMessage(path: string): string {
  try {
    const file = openFile(path);
    try {
      return readEndSync(file, maxBytes).toString("utf8");
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    return `Error on reading termination log ${path}: ${(error as Error).message}`;
  }
}
