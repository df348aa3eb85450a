// Files do not import each other in a circle, types included; and where scripts/rooms.json lists the rooms
// (folders of src/) of a package from the lowest to the highest, a room imports only lower ones. Files of
// src/ itself are the doors of the package: they may import every room, and no room imports them.
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { repository } from "./node24.js";
import { foldersAbove, importsOf, isTest, packageFolders, sourceFiles } from "./sources.js";

const { rooms } = JSON.parse(readFileSync(join(repository, "scripts", "rooms.json"), "utf8"));
const problems = [];

/** Each group of files that reach one another by imports (strongly connected components, Tarjan 1972). */
function cycles(graph) {
  const order = new Map();
  const lowest = new Map();
  const stack = [];
  const found = [];
  const visit = (file) => {
    order.set(file, order.size);
    lowest.set(file, order.get(file));
    stack.push(file);
    for (const next of graph.get(file)) {
      if (!order.has(next)) {
        visit(next);
        lowest.set(file, Math.min(lowest.get(file), lowest.get(next)));
      } else if (stack.includes(next)) {
        lowest.set(file, Math.min(lowest.get(file), order.get(next)));
      }
    }
    if (lowest.get(file) !== order.get(file)) return;
    const group = stack.splice(stack.indexOf(file));
    if (group.length > 1) found.push(group);
  };
  for (const file of graph.keys()) if (!order.has(file)) visit(file);
  return found;
}

/** The shortest way from a file back to itself within a group. */
function circle(graph, group) {
  const start = group.toSorted()[0];
  const from = new Map();
  const queue = [start];
  for (const file of queue) {
    for (const next of graph.get(file)) {
      if (next === start) {
        const way = [start];
        for (let at = file; at !== start; at = from.get(at)) way.unshift(at);
        return [start, ...way];
      }
      if (!group.includes(next) || from.has(next)) continue;
      from.set(next, file);
      queue.push(next);
    }
  }
}

/** The files that each file of some folders imports, as far as they are in these folders. */
function importGraph(folders) {
  const files = new Set(folders.flatMap(sourceFiles));
  const importedBy = (file) =>
    importsOf(file)
      .filter((specifier) => specifier.startsWith("."))
      .map((specifier) => join(dirname(file), specifier))
      .filter((target) => files.has(target));
  return new Map([...files].map((file) => [file, new Set(importedBy(file))]));
}

const graph = importGraph([...packageFolders(), ...foldersAbove].map((path) => join(repository, path)));

for (const group of cycles(graph)) {
  const way = circle(graph, group).map((file) => relative(repository, file));
  problems.push(`${group.length} files import each other in a circle: ${way.join(" -> ")}`);
}

for (const [path, listed] of Object.entries(rooms)) {
  const source = join(repository, path, "src");
  const roomOf = (file) => {
    const [room, ...rest] = relative(source, file).split("/");
    return rest.length === 0 ? undefined : room;
  };
  for (const [file, targets] of graph) {
    if (!file.startsWith(`${source}/`)) continue;
    const room = roomOf(file);
    if (room === undefined || isTest(file)) continue;
    const floor = listed.indexOf(room);
    if (floor < 0) {
      problems.push(`${relative(repository, file)}: scripts/rooms.json does not list the room ${room}`);
      continue;
    }
    for (const target of targets) {
      const other = roomOf(target);
      if (other === undefined || listed.indexOf(other) > floor)
        problems.push(
          `${relative(repository, file)} imports ${relative(source, target)}, which is not in a lower room`,
        );
    }
  }
}

for (const problem of problems) console.error(problem);
process.exit(problems.length === 0 ? 0 : 1);
