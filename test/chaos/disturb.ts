import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Random } from "@dray/testing/random";

const prefix = "chaos-";

/** Folders of a node into which drivers write. */
const folders = (root: string): string[] => [
  join(root, "var/run/cdi"),
  join(root, "etc/cdi"),
  join(root, "var/lib/kubelet/plugins_registry"),
];

type Disturbance = (path: string, random: Random) => void;

/** Hostile files in a folder that others write to, by name. */
const disturbances: Readonly<Record<string, Disturbance>> = {
  "named pipe": (path) => void execFileSync("mkfifo", [path]),
  "huge file": (path) => {
    writeFileSync(path, "");
    truncateSync(path, 2 ** 40);
  },
  garbage: (path, random) => writeFileSync(path, random.bytes(random.below(100_000))),
  "deep YAML": (path, random) => writeFileSync(path, "[".repeat(random.below(300_000))),
  "device file": (path) => symlinkSync("/dev/zero", path),
  "dangling link": (path) => symlinkSync("/nowhere/at/all", path),
  "link to itself": (path) => symlinkSync(path, path),
  "deep folder": (path) =>
    mkdirSync(join(path, ...Array.from({ length: 200 }, () => "d")), { recursive: true }),
  "folder without rights": (path) => {
    mkdirSync(path);
    chmodSync(path, 0);
  },
  "many files": (path, random) => {
    mkdirSync(path);
    for (let i = random.below(2000); i > 0; i--) writeFileSync(join(path, `${i}.sock`), "");
  },
  "spec of nothing": (path) =>
    writeFileSync(path, '{"cdiVersion": "0.5.0", "kind": "a.b/c", "devices": null}'),
};

/** Puts something into a folder of the node; returns what. */
export function disturb(root: string, random: Random): string {
  const folder = random.pick(folders(root));
  const what = random.pick(Object.keys(disturbances));
  const ending = random.pick([".json", ".yaml", ".sock", "-reg.sock"]);
  const path = join(folder, `${prefix}${random.below(1e9)}${ending}`);
  disturbances[what]!(path, random);
  return `${what} at ${path}`;
}

/** Removes all that `disturb` has put into the folders of the node. */
export function calm(root: string): void {
  for (const folder of folders(root))
    for (const name of readdirSync(folder))
      if (name.startsWith(prefix)) rmSync(join(folder, name), { recursive: true, force: true });
}
