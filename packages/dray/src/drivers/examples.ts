import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** Returns the folder `examples`: of the repository in a clone, of this package if npm has installed it. */
export function examplesFolder(): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  return join(folder, existsSync(join(folder, "src")) ? "../.." : ".", "examples");
}
