import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { after, before, test } from "node:test";
import { Pod, ServiceAccount } from "@dray/api/core/v1";
import { type LocalStreams, type Outcome, runRemoteCommand, type SpdySession } from "@dray/streams";
import { eventuallyPasses } from "@dray/testing/eventually";
import type { Kubelet } from "../index.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";
import { Kept } from "../testing/kept.ts";
import { processesWith } from "../testing/processes.ts";
import { type UpgradeAnswer, upgradeTo, webSocketTo } from "../testing/streaming-client.ts";

const version = "x-stream-protocol-version";

let cluster: TestCluster;
let node: Kubelet;
let uid: string;
before(async () => {
  cluster = await testCluster();
  await cluster.admin
    .resource(ServiceAccount)
    .create({ metadata: { namespace: "default", name: "default" } });
  node = await cluster.node("n1");
  await cluster.admin.resource(Pod).create(
    podOn("n1", "web", {
      volumes: [{ name: "node", hostPath: { path: process.execPath } }],
      containers: [
        {
          name: "main",
          command: ["bash", "-c", "echo first; while read -r x; do echo got $x; done"],
          stdin: true,
        },
        {
          name: "server",
          command: [
            process.execPath,
            "-e",
            'require("net").createServer((s)=>s.end("page")).listen(0,"127.0.0.1",function(){console.log(this.address().port)})',
          ],
          // It may lie in a folder that containers have of their own, such as /tmp.
          volumeMounts: [{ name: "node", mountPath: process.execPath }],
        },
        { name: "over", command: ["true"] },
      ],
    }),
  );
  const pod = await podBecomes(
    cluster.admin,
    { namespace: "default", name: "web" },
    ({ status }) =>
      (status?.containerStatuses ?? []).filter(({ state }) => state?.running !== undefined).length === 2 &&
      (status?.containerStatuses ?? []).some(
        ({ lastState, state }) => lastState?.terminated ?? state?.terminated,
      ),
  );
  uid = pod.metadata.uid;
});
after(() => cluster.close());

const upgrade = (path: string, protocol: string | undefined = "v4.channel.k8s.io"): Promise<UpgradeAnswer> =>
  upgradeTo({ cluster, port: node.port }, path, protocol === undefined ? {} : { [version]: protocol });
async function session(path: string, protocol?: string): Promise<SpdySession> {
  const answer = await upgrade(path, protocol);
  assert.ok("session" in answer, JSON.stringify(answer));
  return answer.session;
}
const execPath = (command: readonly string[], streams = "output=1&error=1"): string =>
  `/exec/default/web/main?${streams}${command.map((word) => `&command=${encodeURIComponent(word)}`).join("")}`;
async function exec(
  command: readonly string[],
  stdin?: Readable,
  protocol = "v4.channel.k8s.io",
): Promise<{ outcome: Outcome; stdout: Kept; stderr: Kept }> {
  const streams = `output=1&error=1${stdin === undefined ? "" : "&input=1"}`;
  const local = await session(execPath(command, streams), protocol);
  const [stdout, stderr] = [new Kept(), new Kept()];
  const streamsHere: LocalStreams = {
    tty: false,
    stdout,
    stderr,
    ...(stdin === undefined ? {} : { stdin }),
  };
  const outcome = await runRemoteCommand(local, streamsHere, protocol);
  await local.closed;
  return { outcome, stdout, stderr };
}

test("exec: outputs apart, and the exit code", async () => {
  const { outcome, stdout, stderr } = await exec(["sh", "-c", "echo out; echo err >&2; exit 3"]);
  assert.deepEqual(outcome, { type: "exited", code: 3 });
  assert.equal(stdout.text, "out\n");
  assert.equal(stderr.text, "err\n");
  assert.deepEqual((await exec(["true"])).outcome, { type: "success" });
  const { outcome: missing } = await exec(["no-such-program"]);
  assert.equal(missing.type, "failed");
  assert.equal(
    missing.type === "failed" && missing.message,
    "Internal error occurred: error executing command in container: failed to exec in container: unable to start " +
      'container process: exec: "no-such-program": executable file not found in $PATH',
  );
});

test("exec: 20 MiB there and back", async () => {
  const bytes = Buffer.alloc(20 << 20, "fedcba9876543210");
  const { outcome, stdout } = await exec(["cat"], Readable.from([bytes]));
  assert.deepEqual(outcome, { type: "success" });
  const sum = (all: Buffer): string => createHash("sha256").update(all).digest("hex");
  assert.equal(sum(stdout.bytes), sum(bytes));
});

test("exec: older protocols report a failure as text", async () => {
  for (const protocol of ["v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"]) {
    const { outcome, stdout } = await exec(["sh", "-c", "echo out; exit 3"], undefined, protocol);
    assert.equal(stdout.text, "out\n");
    assert.equal(outcome.type, "failed");
    assert.match(
      outcome.type === "failed" ? outcome.message : "",
      /command terminated with non-zero exit code: error executing command \[sh -c echo out; exit 3\], exit code 3/,
    );
  }
});

test("exec: a client that is cut off takes its command with it", async () => {
  const answer = await upgrade(execPath(["sh", "-c", "echo here; exec sleep 1000712"]));
  assert.ok(answer.socket);
  const stdout = new Kept();
  void runRemoteCommand(
    answer.session,
    { tty: false, stdout, stderr: new Kept() },
    "v4.channel.k8s.io",
  ).catch(() => {});
  await stdout.until(/here\n/);
  const running = () => processesWith("sleep", "1000712").length;
  await eventuallyPasses(() => assert.equal(running(), 1));
  answer.socket.destroy();
  await eventuallyPasses(() => assert.equal(running(), 0));
});

test("exec: many sessions at once", async () => {
  const all = await Promise.all(
    Array.from({ length: 20 }, (_, index) => exec(["sh", "-c", `echo ${index}; exit ${index}`])),
  );
  for (const [index, { outcome, stdout }] of all.entries()) {
    assert.equal(stdout.text, `${index}\n`);
    assert.deepEqual(outcome, index === 0 ? { type: "success" } : { type: "exited", code: index });
  }
});

test("attach: from now on, with input, by name and UID", async () => {
  const local = await session(`/attach/default/web/${uid}/main?input=1&output=1&error=1`);
  const stdin = new PassThrough();
  const stdout = new Kept();
  const done = runRemoteCommand(
    local,
    { tty: false, stdin, stdout, stderr: new Kept() },
    "v4.channel.k8s.io",
  );
  stdin.write("word\n");
  await stdout.until(/\n/);
  assert.equal(stdout.text, "got word\n");
  stdin.end();
  assert.deepEqual(await done, { type: "success" });
});

async function forward(
  local: SpdySession,
  port: number,
  id: string,
): Promise<{ data: string; error: string }> {
  const open = (type: string) => local.createStream({ streamtype: type, port: String(port), requestid: id });
  const [error, data] = [await open("error"), await open("data")];
  const [said, got] = [new Kept(), new Kept()];
  error.end();
  error.pipe(said);
  data.pipe(got);
  data.end();
  await Promise.all([once(said, "finish"), once(got, "finish")]);
  return { data: got.text, error: said.text };
}

async function serverPort(): Promise<number> {
  const logs = join(cluster.rootDir("n1"), `var/log/pods/default_web_${uid}/server/0.log`);
  let port = 0;
  await eventuallyPasses(async () => {
    port = Number(readFileSync(logs, "utf8"));
    assert.ok(port > 0);
  });
  return port;
}

test("port-forward: several connections, and the error of a failed one", async () => {
  const port = await serverPort();
  const local = await session("/portForward/default/web", "portforward.k8s.io");
  const [one, two] = await Promise.all([forward(local, port, "0"), forward(local, port, "1")]);
  assert.deepEqual(one, { data: "page", error: "" });
  assert.deepEqual(two, { data: "page", error: "" });
  const refused = await forward(local, 1, "2");
  assert.match(
    refused.error,
    /^error forwarding port 1 to pod \S+, uid : .*dial tcp4 127\.0\.0\.1:1: connect: connection refused$/,
  );
  assert.equal((await forward(local, port, "3")).data, "page");
  local.close();
  await local.closed;
});

test("WebSocket: outputs, exit code, and with v5 the end of the input", async () => {
  const script = "cat; echo err >&2; exit 3";
  const path = execPath(["sh", "-c", script], "output=1&error=1&input=1");
  const { socket, text, closed } = await webSocketTo(cluster, node.port, path, "v5.channel.k8s.io");
  socket.send(Buffer.from("\0typed\n"));
  socket.send(Buffer.of(255, 0));
  await closed;
  assert.equal(text(1), "typed\n");
  assert.equal(text(2), "err\n");
  assert.deepEqual(JSON.parse(text(3)), {
    status: "Failure",
    reason: "NonZeroExitCode",
    message: `command terminated with non-zero exit code: error executing command [sh -c ${script}], exit code 3`,
    details: { causes: [{ reason: "ExitCode", message: "3" }] },
  });
  const base64 = await webSocketTo(cluster, node.port, execPath(["echo", "hi"]), "base64.channel.k8s.io");
  await base64.closed;
  assert.equal(Buffer.from(base64.text(49), "base64").toString("utf8"), "hi\n");
});

test("WebSocket: port-forward, each port with its channels", async () => {
  const port = await serverPort();
  const path = `/portForward/default/web?port=${port}&port=1`;
  const { text, closed } = await webSocketTo(cluster, node.port, path, "v4.channel.k8s.io");
  await closed;
  const word = Buffer.alloc(2);
  word.writeUInt16LE(port);
  assert.equal(text(0), `${word.toString("utf8")}page`);
  assert.equal(text(1), word.toString("utf8"));
  assert.match(text(3).slice(2), /^error forwarding port 1 to pod .*connection refused$/);
  await assert.rejects(
    webSocketTo(cluster, node.port, "/portForward/default/web", "v4.channel.k8s.io"),
    /400/,
  );
});

test("run: both outputs of a command, or how it ended", async () => {
  const call = (path: string) =>
    upgradeTo({ cluster, port: node.port }, path, { connection: "close", upgrade: "" });
  const good = await call("/run/default/web/main?cmd=echo%20hi%20there");
  assert.deepEqual(good, { status: 200, text: "hi there\n" });
  assert.deepEqual(await call(`/run/default/web/${uid}/main?cmd=cat%20/none`), {
    status: 500,
    text: "command 'cat /none' exited with 1: cat: /none: No such file or directory\n",
  });
  assert.deepEqual(await call("/run/default/web/none?cmd=true"), {
    status: 500,
    text: 'container not found ("none")',
  });
});

test("refusals have the codes and words of the kubelet", async () => {
  const cases: [path: string, protocol: string | undefined, status: number, text: string | RegExp][] = [
    [execPath(["true"], ""), undefined, 400, "you must specify at least 1 of stdin, stdout, stderr"],
    ["/exec/default/none/main?output=1&command=true", undefined, 404, "pod does not exist"],
    ["/exec/default/web/none?output=1&command=true", undefined, 500, 'container not found ("none")'],
    ["/exec/default/web/over?output=1&command=true", undefined, 500, 'container not found ("over")'],
    [
      "/exec/default/web/other-uid/main?output=1&command=true",
      undefined,
      500,
      'container not found ("main")',
    ],
    ["/attach/default/web/none?output=1", undefined, 500, "container none not found in pod web_default"],
    ["/portForward/default/none", undefined, 404, "pod does not exist"],
    ["/portForward/default/web/other-uid", undefined, 404, "pod not found"],
    [
      execPath(["true"]),
      "v9.channel.k8s.io",
      403,
      /client supports \[v9\.channel\.k8s\.io\], server accepts \[v4/,
    ],
    ["/portForward/default/web", "v4.channel.k8s.io", 403, /server accepts \[portforward\.k8s\.io\]/],
  ];
  for (const [path, protocol, status, text] of cases) {
    const answer = await upgrade(path, protocol);
    assert.equal(answer.status, status, path);
    if (!("text" in answer)) assert.fail(path);
    if (typeof text === "string") assert.equal(answer.text, text);
    else assert.match(answer.text, text);
  }
  const plain = await upgradeTo(
    { cluster, port: node.port },
    execPath(["true"]),
    { connection: "close", upgrade: "" },
    "GET",
  );
  assert.deepEqual(plain, { status: 500, text: "Upgrade request required\n" });
  const none = await upgradeTo({ cluster, port: node.port }, execPath(["true"]), {
    upgrade: "h2c",
    [version]: "v4.channel.k8s.io",
  });
  assert.equal(none.status, 400);
});

test("default deny without a permission", async () => {
  const known = cluster.clientCertificate;
  cluster.clientCertificate = {};
  try {
    assert.equal((await upgrade(execPath(["true"]))).status, 401);
  } finally {
    cluster.clientCertificate = known;
  }
});

test("the stop of the agent ends its sessions and their commands", async () => {
  const other = await cluster.node("n2");
  await cluster.admin
    .resource(Pod)
    .create(podOn("n2", "two", { containers: [{ name: "main", command: ["sleep", "1000"] }] }));
  await podBecomes(
    cluster.admin,
    { namespace: "default", name: "two" },
    ({ status }) => status?.phase === "Running",
  );
  const path =
    "/exec/default/two/main?output=1&command=sh&command=-c&command=echo%20here%3Bexec%20sleep%201000713";
  const answer = await upgradeTo({ cluster, port: other.port }, path, { [version]: "v4.channel.k8s.io" });
  assert.ok(answer.socket);
  const stdout = new Kept();
  void runRemoteCommand(answer.session, { tty: false, stdout }, "v4.channel.k8s.io").catch(() => {});
  await stdout.until(/here\n/);
  const running = () => processesWith("sleep", "1000713").length;
  await eventuallyPasses(() => assert.equal(running(), 1));
  await other.stop({ leavePods: true });
  await answer.session.closed;
  await eventuallyPasses(() => assert.equal(running(), 0));
  await cluster.node("n2");
});
