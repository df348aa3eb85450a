import { execFile } from "node:child_process";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { writeFileAtomicallySync } from "@dray/files";
import library from "./library.json" with { type: "json" };

/** File name of the loader library in the folder of the runtime. */
const libraryName = "dray-pod.so";

/** The loader library on this machine, or why it is missing. */
export type InstalledLoader = { readonly path: string } | { readonly reason: string };

/**
 * Writes the library that programs of pods are started with (LD_PRELOAD), and tries it. Its sources are in
 * `packages/kubelet/loader`.
 */
export async function installLoader(
  directory: string,
  { platform, arch }: Pick<NodeJS.Process, "platform" | "arch"> = process,
): Promise<InstalledLoader> {
  if (platform !== "linux" || (arch !== "x64" && arch !== "arm64"))
    return { reason: `there is no loader library for ${platform} on ${arch}` };
  const path = join(directory, libraryName);
  const contents = gunzipSync(Buffer.from(library[arch].library, "base64"));
  writeFileAtomicallySync(path, contents, { durable: false });
  // Every user of a pod reads it, whatever the umask.
  chmodSync(path, 0o755);
  // The linker takes a list that is separated by these.
  if (/[\s:]/.test(path))
    return { reason: `the dynamic linker takes no path with a space or a colon: ${path}` };
  const reason = await problemOf(path);
  return reason === undefined ? { path } : { reason };
}

/** A dynamic linker that cannot load a library says so, and goes on. */
async function problemOf(path: string): Promise<string | undefined> {
  const options = { env: { LD_PRELOAD: path }, timeout: 5000 };
  return promisify(execFile)("/bin/sh", ["-c", ":"], options).then(
    ({ stderr }) => stderr.trim() || undefined,
    (error: Error) => error.message,
  );
}
