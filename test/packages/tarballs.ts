/** Contents of the tarballs that npm would publish. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../harness.ts";

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly homepage: string;
  readonly bugs: string;
  readonly license: string;
  readonly type: string;
  readonly repository: { readonly type: string; readonly url: string; readonly directory?: string };
  readonly engines: { readonly node: string };
  readonly sideEffects?: unknown;
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export interface Tarball {
  /** Path of the tarball. */
  readonly file: string;
  /** Folder in which it is unpacked. */
  readonly folder: string;
  /** Where it comes from, as a path in the repository. */
  readonly directory: string;
  readonly manifest: Manifest;
  /** The paths of its files, sorted. */
  readonly files: readonly string[];
}

/** Makes the tarballs of all packages in a folder, and unpacks them there. */
export function packAll(folder: string): Tarball[] {
  const script = join(repository, "scripts", "pack.js");
  execFileSync(process.execPath, [script, folder], { stdio: ["ignore", "ignore", "inherit"] });
  return readdirSync(folder)
    .filter((name) => name.endsWith(".tgz"))
    .map((name) => {
      const file = join(folder, name);
      const unpacked = join(folder, "unpacked", name);
      mkdirSync(unpacked, { recursive: true });
      execFileSync("tar", ["-xzf", file, "-C", unpacked, "--strip-components=1"]);
      const manifest = JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8")) as Manifest;
      const files = readdirSync(unpacked, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(unpacked.length + 1))
        .sort();
      return { file, folder: unpacked, directory: manifest.repository.directory ?? "", manifest, files };
    });
}
