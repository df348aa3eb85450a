import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { UsageError } from "../failure.ts";
import { InputError } from "./place.ts";

/** A text with manifests. */
export interface Source {
  readonly file: string;
  readonly text: string;
}

const manifest = /\.(?:ya?ml|json)$/;

/**
 * Reads the files that `-f` names: files as they are, of directories those that end in .yaml, .yml or .json, in the
 * order of their names, `-` once as standard input. A file that is named twice is read once. Throws InputError.
 */
export async function readSources(names: readonly string[], recursive = false): Promise<Source[]> {
  if (names.filter((name) => name === "-").length > 1)
    throw new UsageError("-f -: standard input can be read only once");
  const files = new Set(names.flatMap((name) => (name === "-" ? name : filesOf(name, recursive))));
  return Promise.all([...files].map(readSource));
}

function filesOf(name: string, recursive: boolean): string[] {
  const stat = statSync(name, { throwIfNoEntry: false });
  if (stat === undefined) throw new InputError([`${name}: there is no such file or directory`]);
  if (!stat.isDirectory()) return [name];
  const found = manifestsIn(name, recursive);
  if (found.length > 0) return found;
  const more = recursive ? "" : " (-R looks into the folders in it, too)";
  throw new InputError([`${name}: the directory has no files that end in .yaml, .yml or .json${more}`]);
}

function manifestsIn(folder: string, recursive: boolean): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return recursive ? manifestsIn(path, true) : [];
      return manifest.test(entry.name) ? [path] : [];
    });
}

async function readSource(name: string): Promise<Source> {
  const file = name === "-" ? "standard input" : name;
  let bytes: Uint8Array;
  try {
    // As a stream: what feeds a pipe may have set it not to block.
    bytes = name === "-" ? await buffer(process.stdin) : readFileSync(name);
  } catch (error) {
    throw new InputError([`${file}: cannot be read: ${(error as Error).message}`]);
  }
  try {
    return { file, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    throw new InputError([`${file}: is not YAML or JSON: its bytes are not UTF-8 text`]);
  }
}
