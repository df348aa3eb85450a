// Every element of a spread argument lies on the stack: a long list ends the process with a RangeError. Lists
// that others make long (names of devices, rows of a table, entries of an enum) are gone through one by one
// instead.
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { repository } from "./node24.js";

/** `list.push(...many)` and `list.push(one, ...many)`. */
const spread = /\.(?:push|unshift)\((?:[^(){}]*,)?\s*\.\.\./;

function sources(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return ["node_modules", "dist"].includes(entry.name) ? [] : sources(path);
    return entry.name.endsWith(".ts") && !entry.name.endsWith(".test.ts") ? [path] : [];
  });
}

const problems = ["packages", "drivers"].flatMap((root) =>
  sources(join(repository, root)).flatMap((file) =>
    readFileSync(file, "utf8")
      .split("\n")
      .flatMap((line, i) =>
        spread.test(line)
          ? [`${relative(repository, file)}:${i + 1}: push the elements one by one: ${line.trim()}`]
          : [],
      ),
  ),
);
for (const problem of problems) console.error(problem);
process.exit(problems.length > 0 ? 1 : 0);
