import assert from "node:assert/strict";
import { test } from "node:test";
import { type MachinePaths, planPaths, tableText } from "./path-table.ts";

/** A machine with these folders, and with links from paths to others. */
function machine(folders: readonly string[], links: Readonly<Record<string, string>> = {}): MachinePaths {
  return {
    exists: (path) => folders.includes(path),
    real: (path) => (folders.includes(path) ? (links[path] ?? path) : undefined),
  };
}

const mount = (containerPath: string, hostPath: string) => ({ containerPath, hostPath, readOnly: false });

test("a mount in a folder of the machine is an entry, the longest first", () => {
  const mounts = [mount("/etc/app", "/n/app"), mount("/etc/app/more/", "/n/more")];
  assert.deepEqual(planPaths(mounts, "/s", machine(["/", "/etc"])), {
    entries: [
      ["/etc/app/more", "/n/more"],
      ["/etc/app", "/n/app"],
    ],
    links: [],
  });
});

test("folders on the way to a mount that the machine lacks are made, with a link in them", () => {
  const plan = planPaths([mount("/data/a/b", "/n/b")], "/s", machine(["/"]));
  assert.deepEqual(plan, {
    entries: [
      ["/data/a/b", "/n/b"],
      ["/data", "/s/data"],
    ],
    links: [["/s/data/a/b", "/n/b"]],
  });
});

test("the path behind a symbolic link of the machine leads to the mount, too", () => {
  const plan = planPaths(
    [mount("/var/run/secrets/x", "/n/x")],
    "/s",
    machine(["/", "/run", "/var", "/var/run"], { "/var/run": "/run" }),
  );
  assert.deepEqual(Object.fromEntries(plan.entries), {
    "/var/run/secrets/x": "/n/x",
    "/var/run/secrets": "/s/var/run/secrets",
    "/run/secrets/x": "/n/x",
    "/run/secrets": "/s/run/secrets",
  });
});

test("paths with the separators of the table are encoded", () => {
  const plan = planPaths([mount("/a b", "/n:1=%\n")], "/s", machine(["/"]));
  assert.equal(tableText(plan), "/a%20b=/n%3a1%3d%25%0a");
});
