import { type SpawnOptions, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** User `nobody`. */
const nobody = 65_534;
const asNobody = [`--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups", "--"];

/**
 * Waits until its users are mapped. Root of the name space has its rights from the next program on, which
 * forbids user name spaces within, and becomes the command as `nobody`.
 */
const script = `
echo ready
read -r _
exec /bin/sh -c '
echo 0 >/proc/sys/user/max_user_namespaces || exit 1
exec setpriv ${asNobody.join(" ")} "$@" </dev/null' sh "$@"
`;

export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/**
 * Runs a command as an ordinary user who cannot make user name spaces, as in Ubuntu 24.04, on GitHub's
 * runners, and in most containers. Needs root, unless this user is one.
 */
export async function withoutUserNamespaces(
  argv: readonly string[],
  options: Pick<SpawnOptions, "cwd" | "env">,
): Promise<Ended> {
  const isRoot = process.getuid?.() === 0;
  const [program = "", ...args] = isRoot
    ? ["unshare", "--user", "--", "/bin/sh", "-c", script, "sh", ...argv]
    : argv;
  const child = spawn(program, args, { ...options, stdio: ["pipe", "pipe", "inherit"], timeout: 280_000 });
  let output = "";
  const closed = once(child, "close");
  child.stdout.setEncoding("utf8");
  if (isRoot) {
    await once(child.stdout, "data");
    for (const map of ["uid_map", "gid_map"]) writeFileSync(`/proc/${child.pid}/${map}`, "0 0 65536\n");
  }
  child.stdout.on("data", (text: string) => {
    output += text;
  });
  child.stdin.end("go\n");
  const [code] = (await closed) as [number | null];
  return { code, output };
}

/** Why `withoutUserNamespaces` cannot be used here; false if it can. */
export const withUserNamespacesOnly: string | false = (() => {
  const makesThem = spawnSync("unshare", ["--user", "true"]).status === 0;
  if (process.getuid?.() !== 0) return makesThem && "this user can make user name spaces";
  if (!makesThem) return "other users: no user name spaces, in which others can be forbidden";
  return (
    spawnSync("setpriv", [...asNobody, process.execPath, "-e", ""]).status !== 0 &&
    "other users cannot run this Node"
  );
})();

/** Makes a folder that `nobody` owns. */
export function folderOfNobody(): string {
  const folder = mkdtempSync(join(tmpdir(), "dray-nobody-"));
  chmodSync(folder, 0o777);
  return folder;
}
