import { closeSync, openSync, writeSync } from "node:fs";

/**
 * Writes a file that only this agent or its successor reads. Returns false if that fails, as on a full disk:
 * in a callback of a file watcher an error would end the agents of all nodes.
 */
export function note(path: string, text: string, flag: "w" | number = "w"): boolean {
  try {
    const file = openSync(path, flag, 0o640);
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
