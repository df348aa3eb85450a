import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../harness.ts";

/** The pages that users read, as paths in the repository. */
export function pages(): string[] {
  const markdown = (folder: string): string[] =>
    readdirSync(join(repository, folder))
      .filter((name) => name.endsWith(".md"))
      .map((name) => join(folder, name))
      .sort();
  const readmes = ["packages", "drivers"].flatMap((root) =>
    readdirSync(join(repository, root))
      .map((name) => join(root, name, "README.md"))
      .filter((path) => existsSync(join(repository, path))),
  );
  return ["README.md", "README.zh-CN.md", ...markdown("docs"), ...readmes];
}
