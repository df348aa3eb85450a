import { type Dirent, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { UsageError } from "../terminal/failure.ts";
import type { Problem } from "./problem.ts";
import { type Source, sourceOf } from "./source.ts";

const manifest = /\.(?:ya?ml|json)$/;
/** Configuration of kustomize, not a manifest. */
const kustomization = /^kustomization\.ya?ml$/i;

export interface Sources {
  readonly sources: readonly Source[];
  /** Files that cannot be read. */
  readonly problems: readonly Problem[];
}

/**
 * Reads the files of `-f`: files themselves; of folders those that end in .yaml, .yml or .json, by name and
 * without kustomization.yaml; `-` once as standard input. Reads a repeated file once. Throws UsageError.
 */
export async function readSources(names: readonly string[], recursive = false): Promise<Sources> {
  if (names.filter((name) => name === "-").length > 1)
    throw new UsageError("-f -: standard input can be read only once");
  const problems: Problem[] = [];
  const report = (file: string, message: string): void => {
    problems.push({ rule: "unreadable", file, message });
  };
  const files = new Set(names.flatMap((name) => (name === "-" ? name : filesOf(name, recursive, report))));
  const sources = await Promise.all([...files].map((file) => readSource(file, report)));
  return { sources: sources.filter((source) => source !== undefined), problems };
}

type Report = (file: string, message: string) => void;

function filesOf(name: string, recursive: boolean, report: Report): string[] {
  try {
    const stat = statSync(name, { throwIfNoEntry: false });
    if (stat === undefined) {
      report(name, "there is no such file or directory");
      return [];
    }
    if (!stat.isDirectory()) return [name];
    let complete = true;
    const found = manifestsIn(name, recursive, (folder, message) => {
      complete = false;
      report(folder, message);
    });
    const more = recursive ? "" : " (-R looks into the folders in it, too)";
    if (found.length === 0 && complete)
      report(name, `the directory has no files that end in .yaml, .yml or .json${more}`);
    return found;
  } catch (error) {
    report(name, `cannot be read: ${(error as Error).message}`);
    return [];
  }
}

/** Reports an unreadable folder and continues with the others. */
function manifestsIn(folder: string, recursive: boolean, report: Report): string[] {
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    report(folder, `cannot be read: ${(error as Error).message}`);
    return [];
  }
  return entries
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return recursive ? manifestsIn(path, true, report) : [];
      return manifest.test(entry.name) && !kustomization.test(entry.name) ? [path] : [];
    });
}

async function readSource(name: string, report: Report): Promise<Source | undefined> {
  const file = name === "-" ? "standard input" : name;
  let bytes: Uint8Array;
  try {
    // As a stream: the writer of a pipe may have made it non-blocking.
    bytes = name === "-" ? await buffer(process.stdin) : readFileSync(name);
  } catch (error) {
    report(file, `cannot be read: ${(error as Error).message}`);
    return undefined;
  }
  try {
    return sourceOf(file, new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    report(file, "is not YAML or JSON: its bytes are not UTF-8 text");
    return undefined;
  }
}
