import assert from "node:assert/strict";
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { inFolder, type Output, ordinaryUser, output, start } from "../testing/program.ts";

/** The other user must be able to read the program itself. */
const unreadable = ((): string | false => {
  if (ordinaryUser.uid === undefined) return false;
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o005) !== 0o005) return `other users cannot read ${folder}`;
  }
  return false;
})();

const own = (path: string): void => {
  if (ordinaryUser.uid !== undefined) chownSync(path, ordinaryUser.uid, ordinaryUser.gid!);
};

/**
 * Creates a folder of that user with a folder without write permission, which has a file without read
 * permission.
 */
async function closedFolder(
  work: (place: {
    readonly folder: string;
    readonly home: string;
    readonly closed: string;
    readonly run: (args: readonly string[], env?: NodeJS.ProcessEnv) => Promise<Output>;
  }) => Promise<void>,
): Promise<void> {
  await inFolder(async (folder) => {
    chmodSync(folder, 0o755);
    const [home, closed] = [join(folder, "home"), join(folder, "closed")];
    mkdirSync(home);
    mkdirSync(closed);
    writeFileSync(join(closed, "config"), "apiVersion: v1\nkind: Config\n", { mode: 0o644 });
    writeFileSync(join(closed, "secret.yaml"), "kind: Secret\n", { mode: 0o000 });
    mkdirSync(join(closed, "secrets"), { mode: 0o000 });
    chmodSync(closed, 0o555);
    own(home);
    const env = { HOME: home, XDG_DATA_HOME: join(home, "data"), XDG_CACHE_HOME: join(home, "cache") };
    const run = (args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Output> =>
      output(start(args, { ...env, ...more }, { ...ordinaryUser }));
    try {
      await work({ folder, home, closed, run });
    } finally {
      await run(["down", "--delete-data"]);
      chmodSync(closed, 0o755);
      chmodSync(join(closed, "secrets"), 0o755);
    }
  });
}

const up = ["up", "--detach", "--nodes", "0", "--store", "memory"];

test(
  "a kubeconfig and a data directory that may not be written stop the start, with what to do",
  { skip: unreadable },
  () =>
    closedFolder(async ({ home, closed, run }) => {
      const config = join(closed, "config");
      const cases: [args: string[], env: NodeJS.ProcessEnv, error: string][] = [
        [
          ["--kubeconfig", config],
          {},
          `the kubeconfig ${config} cannot be written: EACCES: permission denied, access '${config}': name another with --kubeconfig, or unset $KUBECONFIG to use the cluster's own`,
        ],
        [
          [],
          { KUBECONFIG: join(closed, "new") },
          `the kubeconfig ${join(closed, "new")} cannot be written: EACCES: permission denied, access '${closed}': name another with --kubeconfig, or unset $KUBECONFIG to use the cluster's own`,
        ],
        [
          ["--kubeconfig", join(closed, "secret.yaml")],
          {},
          `the kubeconfig ${join(closed, "secret.yaml")} cannot be read: EACCES: permission denied`,
        ],
        [
          ["--kubeconfig", join(closed, "secrets/config")],
          {},
          `the kubeconfig ${join(closed, "secrets/config")} cannot be read: EACCES: permission denied, stat '${join(closed, "secrets/config")}': name another with --kubeconfig, or unset $KUBECONFIG to use the cluster's own`,
        ],
        [
          ["--data-dir", join(closed, "data")],
          {},
          `the data directory ${join(closed, "data")} cannot be written: EACCES: permission denied, mkdir '${join(closed, "data")}'; name another with --data-dir`,
        ],
        [
          ["--data-dir", join(closed, "secrets")],
          {},
          `the data directory ${join(closed, "secrets")} cannot be read: permission denied: name another with --data-dir`,
        ],
        [
          ["--store", `sqlite:${join(closed, "state.db")}`],
          {},
          `${join(closed, "state.db")} cannot be opened for writing: EACCES: permission denied`,
        ],
      ];
      for (const [args, env, error] of cases) {
        const { code, stdout, stderr } = await run([...up, ...args], env);
        assert.deepEqual([code, stdout], [1, ""], args.join(" "));
        assert.ok(stderr.startsWith(`error: ${error}`), `${stderr}\n${error}`);
      }
      assert.equal(existsSync(join(home, "data/dray/dray/process.json")), false);
      for (const command of ["status", "logs", "down"]) {
        const { code, stderr } = await run([command, "--data-dir", join(closed, "secrets")]);
        assert.equal(code, 1);
        assert.match(
          stderr,
          /^error: the data directory \S+ cannot be read: permission denied: name another with --data-dir\n$/,
        );
      }
    }),
);

test(
  "a kubeconfig of an earlier start that may no longer be written is said aloud, and the cluster runs",
  { skip: unreadable },
  () =>
    closedFolder(async ({ home, run }) => {
      const folder = join(home, "shared");
      mkdirSync(folder);
      own(folder);
      const file = join(folder, "config");
      const first = await run([...up, "--kubeconfig", file]);
      assert.equal(first.code, 0, first.stderr);
      await run(["down"]);
      const before = readFileSync(file, "utf8");
      chmodSync(folder, 0o555);
      try {
        // Writing the same entries needs no permission.
        const same = await run(up);
        assert.deepEqual([same.code, same.stderr], [0, ""]);
        await run(["down"]);
        const { port } = JSON.parse(readFileSync(join(home, "data/dray/dray/cluster.json"), "utf8")) as {
          port: number;
        };
        const other = await run([...up, "--port", String(port > 60_000 ? port - 1 : port + 1)]);
        assert.equal(other.code, 0, other.stderr);
        assert.match(
          other.stderr,
          /^note: the context dray in \S+config is of an earlier start, and could not be updated: EACCES: permission denied/,
        );
        assert.equal(readFileSync(file, "utf8"), before);
      } finally {
        chmodSync(folder, 0o755);
      }
    }),
);

test("manifests that may not be read are named, all at once", { skip: unreadable }, () =>
  closedFolder(async ({ closed, run }) => {
    const lines = (text: string): string[] =>
      text.split("\n").filter((line) => line.includes("cannot be read"));
    const [file, folder, lint, check, config] = await Promise.all([
      run(["plan", "-f", join(closed, "secret.yaml")]),
      run(["plan", "-R", "-f", closed]),
      run(["lint", "-R", closed]),
      run(["cel", "check", "-R", "-f", closed]),
      run(["plan", "--kubeconfig", join(closed, "secret.yaml")]),
    ]);
    const secret = `${closed}/secret.yaml: cannot be read: EACCES: permission denied, open '${closed}/secret.yaml'`;
    const secrets = `${closed}/secrets: cannot be read: EACCES: permission denied, scandir '${closed}/secrets'`;
    assert.deepEqual([file.code, file.stdout, file.stderr], [1, "", `error: ${secret}\n`]);
    assert.deepEqual([folder.code, folder.stdout], [1, ""]);
    assert.deepEqual(lines(folder.stderr), [`error: ${secrets}`, `error: ${secret}`]);
    assert.equal(lint.code, 2);
    assert.equal(lines(lint.stdout).length, 2, lint.stdout);
    assert.equal(check.code, 1);
    assert.equal(lines(check.stderr).length, 2, check.stderr);
    assert.deepEqual([config.code, config.stdout], [1, ""]);
    assert.match(config.stderr, /^error: kubeconfig \S+secret\.yaml: cannot be read: permission denied/);
  }),
);
