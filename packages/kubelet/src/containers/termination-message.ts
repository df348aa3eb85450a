import { closeSync, fstatSync, readSync } from "node:fs";
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
      const { size } = fstatSync(file);
      const bytes = Buffer.alloc(Math.min(size, maxBytes));
      const count = readSync(file, bytes, 0, bytes.length, size - bytes.length);
      return bytes.toString("utf8", 0, count);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    return `Error on reading termination log ${path}: ${(error as Error).message}`;
  }
}
