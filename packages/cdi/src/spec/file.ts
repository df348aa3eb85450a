import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { removeFile, writeFileAtomically } from "@dray/files";
import { CdiError, type Spec } from "./spec.ts";
import { validateSpec } from "./validate.ts";
import { minimumVersion } from "./version.ts";

/**
 * Returns the name of a spec's file: `<vendor>-<class>.json`, with `_<transientID>` for a spec with the
 * lifetime of something else, such as a claim. Written as JSON, which every reader of CDI accepts.
 */
export function specFileName(kind: string, transientID?: string): string {
  if (transientID !== undefined && !/^[^/\0]+$/.test(transientID)) {
    throw new CdiError(
      `transient ID ${JSON.stringify(transientID)} must not be empty and must not have a slash`,
    );
  }
  const name = kind.replace("/", "-");
  return transientID === undefined ? `${name}.json` : `${name}_${transientID}.json`;
}

/**
 * Writes a spec with the lowest sufficient version and resolves to its path. Readers see the old file, the
 * new one, or no file. Makes the folder (0755) if it is missing. Throws a CdiError for an invalid spec,
 * before anything is written.
 */
export async function writeSpec(
  directory: string,
  content: Omit<Spec, "cdiVersion">,
  transientID?: string,
): Promise<string> {
  const spec = validateSpec({ cdiVersion: minimumVersion(content), ...content });
  const path = join(directory, specFileName(spec.kind, transientID));
  await writeFileAtomically(path, `${JSON.stringify(spec, null, 2)}\n`, { mode: 0o644, folderMode: 0o755 });
  return path;
}

/** Removes a spec's file and the temporary files of killed writers. Succeeds if it does not exist. */
export async function removeSpec(directory: string, kind: string, transientID?: string): Promise<void> {
  await removeFile(join(directory, specFileName(kind, transientID)));
}

/** Returns the transient IDs for which `directory` has a spec of `kind`. */
export async function transientIDs(directory: string, kind: string): Promise<string[]> {
  const prefix = `${kind.replace("/", "-")}_`;
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return names
    .filter((name) => name.startsWith(prefix) && name.endsWith(".json"))
    .map((name) => name.slice(prefix.length, -".json".length));
}
