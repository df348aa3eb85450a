import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The version of this package, whose package.json is above the source as well as above the built files. */
export function drayVersion(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const file = join(folder, "package.json");
    if (existsSync(file)) {
      const manifest = JSON.parse(readFileSync(file, "utf8")) as { name?: string; version?: string };
      if (manifest.name === "dray" && manifest.version !== undefined) return manifest.version;
    }
    if (folder === dirname(folder)) throw new Error("the package.json of dray is missing: install it again");
  }
}
