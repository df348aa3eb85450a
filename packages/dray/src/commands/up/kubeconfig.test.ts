import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "@dray/testing/eventually";
import { dray, inFolder, type Output, output, start } from "../../testing/program.ts";

/** A file of a user, with unique credentials. */
const theirs = `# my clusters, do not lose
apiVersion: v1
kind: Config
preferences: {}
current-context: prod   # careful
contexts:
    - name: prod
      context: {cluster: prod, user: "ann"}  # mine
clusters:
    - name: prod
      cluster:
          server: https://prod.example.com:6443
users:
    # the only copy
    - name: ann
      user:
          token: 'secret'
`;

const withoutKubectl = spawnSync("kubectl", ["version", "--client"]).status !== 0 && "kubectl is not on PATH";

function kubectl(env: NodeJS.ProcessEnv, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync("kubectl", args, {
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  assert.equal(status, 0, stderr);
  return stdout;
}

/** Runs `dray` on clusters without nodes in this folder, and stops them afterwards. */
function clusters(folder: string): {
  env: NodeJS.ProcessEnv;
  up: (flags: string[], env?: NodeJS.ProcessEnv) => Promise<Output>;
  down: (...flags: string[]) => Promise<Output>;
} {
  const env = { XDG_DATA_HOME: join(folder, "data"), HOME: join(folder, "home") };
  const quick = ["--detach", "--nodes", "0", "--store", "memory"];
  return {
    env,
    up: (flags, more = {}) => dray(["up", ...quick, ...flags], { ...env, ...more }),
    down: (...flags) => dray(["down", "--delete-data", ...flags], env),
  };
}

test(
  "up adds a context to the kubeconfig that is named, kubectl uses it, and down takes it out again",
  {
    skip: withoutKubectl,
  },
  () =>
    inFolder(async (folder) => {
      const { env, up, down } = clusters(folder);
      const file = join(folder, "it's config");
      writeFileSync(file, theirs, { mode: 0o640 });
      const KUBECONFIG = file;
      try {
        const first = await up(["--kubeconfig", file]);
        assert.equal(first.code, 0, first.stderr);
        const quoted = `'${folder}/it'\\''s config'`;
        assert.ok(first.stdout.includes(`  kubeconfig  ${quoted}, current context dray\n`), first.stdout);
        assert.ok(first.stdout.includes(`  export KUBECONFIG=${quoted}\n`), first.stdout);
        const second = await up(["--name", "two"], { KUBECONFIG });
        assert.equal(second.code, 0, second.stderr);
        assert.ok(!second.stdout.includes("export KUBECONFIG"), second.stdout);

        const text = readFileSync(file, "utf8");
        for (const line of theirs.split("\n"))
          assert.ok(text.includes(line) || line.startsWith("current-context: prod"), line);
        assert.ok(text.includes("current-context: dray-two   # careful\n"), text);
        assert.equal(
          kubectl({ KUBECONFIG }, "config", "get-contexts", "-o", "name"),
          "dray\ndray-two\nprod\n",
        );
        const ids = ["dray", "dray-two"].map((context) =>
          kubectl(
            { KUBECONFIG },
            "--context",
            context,
            "get",
            "namespace",
            "kube-system",
            "-o",
            "jsonpath={.metadata.uid}",
          ),
        );
        assert.notEqual(ids[0], ids[1]);
        assert.equal(
          kubectl({ KUBECONFIG }, "get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}"),
          ids[1],
        );
        assert.equal(
          kubectl(
            { KUBECONFIG },
            "--context",
            "prod",
            "config",
            "view",
            "--minify",
            "--raw",
            "-o",
            "jsonpath={.users[0].user.token}",
          ),
          "secret",
        );

        const downTwo = await down("--name", "two");
        assert.equal(downTwo.code, 0, downTwo.stderr);
        assert.match(readFileSync(file, "utf8"), /^current-context: "" {3}# careful$/m);
        await down();
        assert.equal(
          readFileSync(file, "utf8"),
          theirs.replace("current-context: prod", 'current-context: ""'),
        );
      } finally {
        await down();
        await down("--name", "two");
      }
      assert.equal(existsSync(join(env["XDG_DATA_HOME"]!, "dray", "two")), false);
    }),
);

test("without a flag and without $KUBECONFIG no file but the cluster's own is written", () =>
  inFolder(async (folder) => {
    const { env, up, down } = clusters(folder);
    const standard = join(env["HOME"]!, ".kube", "config");
    mkdirSync(join(standard, ".."), { recursive: true });
    writeFileSync(standard, theirs);
    try {
      for (const KUBECONFIG of ["", "/dev/null"]) {
        const { code, stdout, stderr } = await up([], { KUBECONFIG });
        assert.equal(code, 0, stderr);
        const own = join(folder, "data/dray/dray/kubeconfig");
        assert.ok(stdout.includes(`  kubeconfig  ${own}\n`), stdout);
        assert.ok(stdout.includes(`  export KUBECONFIG=${own}\n`), stdout);
        assert.match(readFileSync(own, "utf8"), /^apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n/);
        assert.equal(readFileSync(standard, "utf8"), theirs);
        await dray(["down"], env);
      }
      // kubectl's default file needs no export.
      const { stdout } = await up(["--kubeconfig", standard]);
      assert.ok(!stdout.includes("export"), stdout);
    } finally {
      await down();
    }
    assert.equal(
      readFileSync(standard, "utf8"),
      theirs.replace("current-context: prod", 'current-context: ""'),
    );
  }));

test(
  "of several files the first that exists gets the entries, and the one that decides the current context",
  {
    skip: withoutKubectl,
  },
  () =>
    inFolder(async (folder) => {
      const { up, down } = clusters(folder);
      const [missing, first, second] = ["missing", "first", "second"].map((name) => join(folder, name));
      const KUBECONFIG = [missing, first, "", second, first].join(":");
      const empty = "apiVersion: v1\nkind: Config\n";
      writeFileSync(first!, empty);
      writeFileSync(second!, theirs);
      try {
        assert.equal((await up([], { KUBECONFIG })).code, 0);
        assert.equal(existsSync(missing!), false);
        assert.equal(readFileSync(second!, "utf8"), theirs);
        assert.equal(kubectl({ KUBECONFIG }, "config", "current-context"), "dray\n");
        await down();
        assert.match(readFileSync(first!, "utf8"), /^current-context: ""$/m);

        // The context is in the second file, the current context in the first.
        const withContext = "apiVersion: v1\ncurrent-context: prod # mine\n";
        writeFileSync(first!, withContext);
        assert.equal((await up(["--kubeconfig", second!])).code, 0);
        writeFileSync(first!, withContext);
        await dray(["down"], { XDG_DATA_HOME: join(folder, "data") });
        assert.equal((await up([], { KUBECONFIG })).code, 0);
        assert.equal(readFileSync(first!, "utf8"), withContext.replace("prod", "dray"));
        assert.equal(kubectl({ KUBECONFIG }, "config", "current-context"), "dray\n");
        await down();
        assert.equal(readFileSync(first!, "utf8"), withContext.replace("prod", '""'));
        assert.ok(!readFileSync(second!, "utf8").includes("dray"));
      } finally {
        await down();
      }
    }),
);

test("a start makes the entries right in every file that an earlier one has added them to", () =>
  inFolder(async (folder) => {
    const { env, up, down } = clusters(folder);
    const [kept, taken, gone, broken] = ["kept", "taken", "gone", "broken"].map((name) => join(folder, name));
    const files = [kept!, taken!, gone!, broken!];
    const server = (file: string): string | undefined =>
      /server: (https:\/\/127\.0\.0\.1:\d+)\n/.exec(readFileSync(file, "utf8"))?.[1];
    try {
      writeFileSync(kept!, theirs);
      for (const file of files) {
        assert.equal((await up(["--kubeconfig", file])).code, 0);
        await dray(["down"], env);
      }
      const before = server(kept!);
      writeFileSync(
        kept!,
        readFileSync(kept!, "utf8").replace("current-context: dray ", "current-context: prod "),
      );
      writeFileSync(taken!, theirs);
      rmSync(gone!);
      writeFileSync(broken!, "a: [1");
      // Any port except the previous one.
      const port = await new Promise<number>((resolve) => {
        const other = createServer().listen(0, "127.0.0.1", () => {
          const { port } = other.address() as AddressInfo;
          other.close(() => resolve(port));
        });
      });
      // A new authority, too: the keys are created again.
      rmSync(join(folder, "data/dray/dray/pki"), { recursive: true });
      const { code, stderr } = await up(["--port", String(port)]);
      assert.equal(code, 0, stderr);
      assert.match(
        stderr,
        /^(?:Starting [^\n]*\n)*note: the context dray in \S+broken is of an earlier start, and could not be updated: .*malformed.*\n$/s,
      );
      assert.notEqual(before, server(kept!));
      assert.equal(server(kept!), `https://127.0.0.1:${port}`);
      const text = readFileSync(kept!, "utf8");
      assert.ok(text.includes("current-context: prod   # careful\n"), text);
      assert.ok(text.includes("# the only copy\n"), text);
      const authority = readFileSync(join(folder, "data/dray/dray/pki/ca.crt")).toString("base64");
      assert.ok(text.includes(authority));
      // The user has removed the previous content.
      assert.equal(readFileSync(taken!, "utf8"), theirs);
      assert.deepEqual([existsSync(gone!), readFileSync(broken!, "utf8")], [false, "a: [1"]);
    } finally {
      await down();
    }
  }));

test("a kubeconfig that is malformed, of another cluster or not a file stops the start and stays", () =>
  inFolder(async (folder) => {
    const { env, up, down } = clusters(folder);
    const file = join(folder, "config");
    const refused = async (text: string, error: RegExp): Promise<void> => {
      writeFileSync(file, text);
      const { code, stdout, stderr } = await up(["--kubeconfig", file]);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, error);
      assert.equal(readFileSync(file, "utf8"), text);
      assert.equal(existsSync(join(folder, "data/dray/dray/cluster.json")), false);
      assert.equal(existsSync(`${file}.lock`), false);
    };
    await refused(
      "a: [1\nb: 2\n",
      /^error: the kubeconfig .*config is malformed, and left as it is: .* at line 2, column 1.*\n?.*/,
    );
    await refused(
      "clusters: 5\n",
      /malformed, and left as it is: clusters must be a list of objects with a name: mend it, or/,
    );
    await refused(
      theirs.replace("- name: ann", "- name: dray"),
      /config has a user named dray already, which is not of the cluster in .*: choose another --name for this cluster, or/,
    );
    const device = await up(["--kubeconfig", "/dev/full"]);
    assert.equal(device.stderr, "error: /dev/full must be a file, not a device or pipe\n");
    try {
      // The name belongs to another running cluster of ours, not to a removed one.
      writeFileSync(file, "");
      assert.equal((await up(["--kubeconfig", file])).code, 0);
      const other = ["--data-dir", join(folder, "other"), "--kubeconfig", file];
      const before = readFileSync(file, "utf8");
      assert.match((await up(other)).stderr, /has a cluster named dray already/);
      assert.equal(readFileSync(file, "utf8"), before);
      copyFileSync(file, `${file}.kept`);
      await down();
      copyFileSync(`${file}.kept`, file);
      const taken = await up(other);
      assert.equal(taken.code, 0, taken.stderr);
      assert.notEqual(readFileSync(file, "utf8"), before);
    } finally {
      await down();
      await dray(["down", "--delete-data", "--data-dir", join(folder, "other")], env);
    }
    assert.deepEqual(readFileSync(file, "utf8").match(/dray/g), null);
  }));

test("a cluster's own file keeps what others have put there, and its own entries are made right", () =>
  inFolder(async (folder) => {
    const { env, up, down } = clusters(folder);
    const own = join(folder, "data/dray/dray/kubeconfig");
    const link = join(folder, "link");
    try {
      assert.equal((await up([])).code, 0);
      const before = readFileSync(own, "utf8");
      symlinkSync(own, link);
      // The file still leads to the first cluster.
      const two = await up(["--name", "two"], { KUBECONFIG: link });
      assert.match(two.stdout, /^ {2}export KUBECONFIG=.*\/two\/kubeconfig$/m);
      assert.equal(readFileSync(own, "utf8"), before);
      await dray(["down", "--name", "two"], env);
      assert.equal((await up(["--name", "two", "--kubeconfig", link])).code, 0);
      assert.match(readFileSync(own, "utf8"), /^current-context: dray-two$/m);
      await dray(["down"], env);
      assert.equal((await up([], { KUBECONFIG: own })).code, 0);
      const both = readFileSync(own, "utf8");
      assert.match(both, /^current-context: dray$/m);
      assert.match(both, /^ {2}name: dray-two$/m);
      await down("--name", "two");
      assert.equal(readFileSync(own, "utf8"), before);
      await dray(["down"], env);
      writeFileSync(own, "a: [");
      assert.equal((await up([])).code, 0);
      assert.equal(readFileSync(own, "utf8"), before);
    } finally {
      await down();
      await down("--name", "two");
    }
  }));

test(
  "apiserver adds its context to the file that --kubeconfig names, and to no other",
  {
    skip: withoutKubectl,
  },
  () =>
    inFolder(async (folder) => {
      const file = join(folder, "a config");
      const other = join(folder, "other");
      writeFileSync(file, theirs);
      writeFileSync(other, theirs);
      const flags = ["--data-dir", join(folder, "data"), "--name", "api", "--port", "0", "--store", "memory"];
      const server = start(["apiserver", ...flags, "--kubeconfig", file], { KUBECONFIG: other });
      const ended = output(server);
      try {
        let said = "";
        server.stdout?.on("data", (chunk: Buffer) => (said += chunk.toString()));
        await eventually("it is ready", () => said.includes("kubeconfig"));
        assert.ok(said.endsWith(`  kubeconfig  '${file}'\n`), said);
        assert.match(
          kubectl({ KUBECONFIG: file }, "--context", "dray-api", "get", "namespaces"),
          /kube-system/,
        );
        assert.ok(readFileSync(file, "utf8").includes("# the only copy\n    - name: ann\n"));
        assert.equal(readFileSync(other, "utf8"), theirs);
      } finally {
        server.kill("SIGTERM");
        await ended;
      }
    }),
);
