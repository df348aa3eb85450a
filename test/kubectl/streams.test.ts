import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { eventually } from "@dray/testing/eventually";
import { command, logsOf, startCluster, type TestCluster, withoutKubectl } from "../harness.ts";

/**
 * Protocols that kubectl uses for streams: WebSockets by default since 1.31, SPDY before and if configured.
 */
const transports = ["WebSocket", "SPDY"] as const;

/** Serves its own path, and a long page. */
const site = `
const { createServer } = require("node:http");
createServer(({ url }, response) => {
  response.end(url === "/long" ? "x".repeat(3_000_000) : "page " + url);
}).listen(8080, process.env.DRAY_POD_IP);
`;

const pods = {
  apiVersion: "v1",
  kind: "List",
  items: [
    pod("box", ["sh", "-c", "while true; do echo tick; sleep 0.2; done"]),
    // The program may lie in /tmp, of which a pod has its own.
    pod(
      "site",
      [process.execPath, "-e", site],
      { volumeMounts: [{ name: "program", mountPath: dirname(process.execPath) }] },
      { volumes: [{ name: "program", hostPath: { path: dirname(process.execPath) } }] },
    ),
    pod("reader", ["sh", "-c", "read -r line; echo got $line; sleep 1000"], { stdin: true }),
  ],
};

function pod(name: string, command: readonly string[], more: object = {}, spec: object = {}): object {
  const containers = [{ name: "c", image: "any", command, ...more }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { terminationGracePeriodSeconds: 0, containers, ...spec },
  };
}

const hashOf = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex");

const withKubectl = { skip: withoutKubectl };

let cluster: TestCluster;
before(async () => {
  if (withoutKubectl) return;
  cluster = await startCluster("--nodes", "1");
  const file = join(cluster.folder, "pods.json");
  writeFileSync(file, JSON.stringify(pods));
  await cluster.kubectl("apply", "-f", file);
  await cluster.kubectl("wait", "--for=condition=Ready", "pods", "--all", "--timeout=60s");
});
after(async () => {
  await cluster?.down();
});

test("logs: the last lines, and the following ones", withKubectl, async () => {
  const { stdout } = await command("kubectl", ["logs", "box", "--tail=2"], { env: cluster.env });
  assert.equal(stdout, "tick\ntick\n");
  const child = spawn("kubectl", ["logs", "box", "-f", "--tail=0", "--timestamps"], { env: cluster.env });
  const lines = createInterface({ input: child.stdout });
  for (let count = 0; count < 3; count++) assert.match((await once(lines, "line"))[0], /^\d{4}-\S+Z tick$/);
  child.kill();
  await once(child, "close");
});

for (const transport of transports) {
  const environment = (): NodeJS.ProcessEnv => ({
    ...cluster.env,
    KUBECTL_REMOTE_COMMAND_WEBSOCKETS: String(transport === "WebSocket"),
    KUBECTL_PORT_FORWARD_WEBSOCKETS: String(transport === "WebSocket"),
  });
  const kubectl = (args: readonly string[], input?: string) =>
    command("kubectl", args, { env: environment(), ...(input === undefined ? {} : { input }) });

  test(`exec over ${transport}: output and errors apart, the code of the command`, withKubectl, async () => {
    const failed = await kubectl(["exec", "box", "--", "sh", "-c", "echo out; echo err >&2; exit 3"]);
    assert.deepEqual(failed, {
      code: 3,
      stdout: "out\n",
      stderr: "err\ncommand terminated with exit code 3\n",
    });
    assert.equal((await kubectl(["exec", "box", "--", "true"])).code, 0);
    const missing = await kubectl(["exec", "box", "--", "no-such-program"]);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /"no-such-program": executable file not found in \$PATH/);
  });

  test(`exec over ${transport}: input arrives to its end`, withKubectl, async () => {
    const long = "0123456789abcdef".repeat(100_000);
    const echoed = await kubectl(["exec", "-i", "box", "--", "cat"], long);
    assert.equal(echoed.code, 0);
    assert.ok(echoed.stdout === long);
  });

  test(`exec over ${transport}: a terminal, as large as the user's`, withKubectl, async () => {
    if (spawnSync("script", ["--version"]).error) return;
    const line = "stty rows 33 cols 77; kubectl exec -it box -- sh -c 'tty; sleep 1; stty size; exit 4'";
    const { code, stdout } = await command("script", ["-qec", line, "/dev/null"], { env: environment() });
    // A slow terminal may echo what `script` types at the end of its input.
    assert.match(stdout, /\/dev\/pts\/\d+\r?\n(?:\^@)*33 77\r?\n/);
    assert.equal(code, 4);
  });

  test(`attach over ${transport}: output from now on`, withKubectl, async () => {
    const child = spawn("kubectl", ["attach", "box"], { env: environment() });
    const lines = createInterface({ input: child.stdout });
    for (let count = 0; count < 3; count++) assert.equal((await once(lines, "line"))[0], "tick");
    child.kill();
    await once(child, "close");
  });

  test(`cp over ${transport}: there and back, whole`, withKubectl, async () => {
    const here = join(cluster.folder, `here-${transport}`);
    const back = join(cluster.folder, `back-${transport}`);
    // In the pod.
    const there = `/tmp/there-${transport}`;
    writeFileSync(here, randomBytes(20 * 1024 * 1024));
    const up = await kubectl(["cp", here, `box:${there}`]);
    assert.equal(up.code, 0, up.stderr);
    const down = await kubectl(["cp", `box:${there}`, back]);
    assert.equal(down.code, 0, down.stderr);
    assert.equal(hashOf(back), hashOf(here));
  });

  test(`port-forward over ${transport}: several connections at the same time`, withKubectl, async () => {
    const child = spawn("kubectl", ["port-forward", "pod/site", ":8080"], { env: environment() });
    try {
      const lines = createInterface({ input: child.stdout });
      const [line] = (await once(lines, "line")) as [string];
      const port = /127\.0\.0\.1:(\d+) -> 8080/.exec(line)?.[1];
      const page = async (path: string): Promise<string> =>
        (await fetch(`http://127.0.0.1:${port}${path}`)).text();
      const paths = Array.from({ length: 8 }, (_, index) => `/${index}`);
      const pages = await Promise.all([page("/long"), ...paths.map(page)]);
      assert.equal(pages[0]!.length, 3_000_000);
      assert.deepEqual(
        pages.slice(1),
        paths.map((path) => `page ${path}`),
      );
    } finally {
      child.kill();
      await once(child, "close");
    }
  });
}

test("attach -i: input reaches the container", withKubectl, async () => {
  const child = spawn("kubectl", ["attach", "-i", "reader"], { env: cluster.env });
  const lines = createInterface({ input: child.stdout });
  const line = once(lines, "line");
  child.stdin.write("words\n");
  assert.equal((await line)[0], "got words");
  child.kill();
  await once(child, "close");
});

test("a client that is killed leaves no process behind", withKubectl, async () => {
  const mark = `3${Date.now() % 100_000}`;
  const child = spawn("kubectl", ["exec", "box", "--", "sleep", mark], { env: cluster.env });
  const runs = (): boolean => spawnSync("pgrep", ["-f", `^sleep ${mark}$`]).status === 0;
  await eventually("the command runs", async () => runs());
  child.kill("SIGKILL");
  await eventually("the command is gone", async () => !runs());
  assert.ok(!logsOf(cluster.dataDir).includes('"level":50'));
});
