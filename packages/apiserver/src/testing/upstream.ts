/** For tests: upstream's sources in Go's module cache. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

function moduleCache(): string | undefined {
  const { status, stdout } = spawnSync("go", ["env", "GOMODCACHE"], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

const cache = moduleCache();

/** Why a test cannot read these modules (`k8s.io/api@v0.37.2`), as for its option `skip`; false if it can. */
export function missingModules(...modules: readonly string[]): string | false {
  if (cache === undefined) return "Go is not installed";
  const missing = modules.filter((name) => !existsSync(join(cache, name)));
  return missing.length > 0 && `Go's module cache lacks ${missing.join(", ")}`;
}

/** Returns the text of a file, by its path below the module cache. */
export function upstreamSource(path: string): string {
  if (cache === undefined) throw new Error("Go is not installed");
  return readFileSync(join(cache, path), "utf8");
}

/** Returns the names of the files in a folder of a module. */
export function upstreamFiles(module: string, folder: string): readonly string[] {
  if (cache === undefined) throw new Error("Go is not installed");
  return readdirSync(join(cache, module, folder));
}
