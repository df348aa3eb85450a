import { closeSync, openSync, writeSync } from "node:fs";

/**
 * Writes what an agent only notes for itself or its successor. False where that fails, as on a full disk: watchers of
 * files write notes, where an error would end the agents of all nodes.
 */
export function note(path: string, text: string, flag: "w" | number = "w"): boolean {
  try {
    const file = openSync(path, flag, 0o644);
    try {
      if (text !== "") writeSync(file, text);
    } finally {
      closeSync(file);
    }
    return true;
  } catch {
    return false;
  }
}
