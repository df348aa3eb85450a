import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { Duplex, PassThrough } from "node:stream";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventuallyPasses } from "@dray/testing/eventually";
import { container, isolations, sandbox, testRuntime } from "../../testing/agent.ts";
import { Kept } from "../../testing/kept.ts";
import type { ContainerConfig } from "../config.ts";
import type { ClientStreams, Container } from "../service.ts";
import type { HostRuntime } from "./host.ts";
import { find } from "./isolation.ts";

const never = new AbortController().signal;
const streams = (given: Partial<ClientStreams>): ClientStreams => ({
  stdin: undefined,
  stdout: undefined,
  stderr: undefined,
  resize: undefined,
  ...given,
});
/** Echoes each line that it reads, and reports the end of its input. */
const echo = ["bash", "-c", 'while read -r line; do echo "got $line"; done; echo ended'];

for (const isolation of isolations)
  describe(`attach and port-forward, isolation ${isolation}`, () => {
    const suite = createSuite(isolation);
    for (const declare of [outputTests, inputTests, terminalTests, portForwardTests, adoptionTests])
      declare(suite);
  });

/** A runtime that runs during the tests of one isolation. */
interface Suite {
  readonly isolation: string;
  readonly runtime: HostRuntime;
  /** Starts a container in a pod of its own. */
  run(command: readonly string[], config?: Partial<ContainerConfig>): Promise<Container>;
  state(id: string): Promise<Container | undefined>;
}

function createSuite(isolation: string): Suite {
  const root = mkdtempSync("/tmp/dk-");
  const runtime = testRuntime(root, isolation);
  let count = 0;
  const alive = setInterval(() => {}, 1000);
  before(() => runtime.start());
  after(async () => {
    for (const { id } of await runtime.listPodSandboxes()) await runtime.removePodSandbox(id);
    await runtime.close();
    clearInterval(alive);
    rmSync(root, { recursive: true });
  });

  async function run(command: readonly string[], config: Partial<ContainerConfig> = {}): Promise<Container> {
    const { id } = await runtime.runPodSandbox({ ...sandbox, uid: `uid-${count++}` });
    const made = await runtime.createContainer(id, {
      ...container(root, command),
      logPath: `${root}/${id}.log`,
      ...config,
    });
    await runtime.startContainer(made.id);
    const started = await state(made.id);
    assert.ok(started);
    return started;
  }
  const state = async (id: string): Promise<Container | undefined> =>
    (await runtime.listContainers()).find((one) => one.id === id);
  return { isolation, runtime, run, state };
}

function outputTests({ runtime, run, state }: Suite): void {
  test("sends output from now on, until the container ends", async () => {
    const { id, config } = await run(["bash", "-c", "echo early; read -r; printf late; exit 3"], {
      stdin: true,
    });
    await eventuallyPasses(async () => assert.equal(readFileSync(config.logPath, "utf8"), "early\n"));
    const stdin = new PassThrough();
    const stdout = new Kept();
    const other = new Kept();
    const attached = runtime.attach(id, streams({ stdin, stdout }), never);
    const watching = runtime.attach(id, streams({ stdout: other }), never);
    stdin.write("go\n");
    await Promise.all([attached, watching]);
    assert.equal(stdout.text, "late");
    assert.equal(other.text, "late");
    assert.ok(stdout.writableEnded);
    assert.equal((await state(id))?.exitCode, 3);
    await assert.rejects(runtime.attach(id, streams({ stdout }), never), { reason: "ContainerNotRunning" });
  });
}

function inputTests({ runtime, run, state }: Suite): void {
  test("the input stays open when a client ends its own, and the attachment ends", async () => {
    const { id } = await run(echo, { stdin: true });
    for (const word of ["one", "two"]) {
      const stdin = new PassThrough();
      const stdout = new Kept();
      const attached = runtime.attach(id, streams({ stdin, stdout }), never);
      stdin.write(`${word}\n`);
      await stdout.until(new RegExp(`got ${word}\n`));
      stdin.end();
      await attached;
    }
    assert.equal((await state(id))?.state, "running");
  });

  test("stdinOnce closes the input with the first client, and sends later output", async () => {
    const { id } = await run(echo, { stdin: true, stdinOnce: true });
    const stdin = new PassThrough();
    const stdout = new Kept();
    const attached = runtime.attach(id, streams({ stdin, stdout }), never);
    stdin.end("all\nof it\n");
    await attached;
    assert.equal(stdout.text, "got all\ngot of it\nended\n");
    await eventuallyPasses(async () => assert.equal((await state(id))?.exitCode, 0));
  });

  test("a client that is cut off counts as its end with stdinOnce, and harms no other container", async () => {
    const once = await run(echo, { stdin: true, stdinOnce: true });
    const gone = new AbortController();
    const stdin = new PassThrough();
    const stdout = new Kept();
    const attached = runtime.attach(once.id, streams({ stdin, stdout }), gone.signal);
    stdin.write("last\n");
    await stdout.until(/got last/);
    gone.abort();
    stdin.destroy();
    await assert.rejects(attached);
    await eventuallyPasses(async () => assert.equal((await state(once.id))?.exitCode, 0));

    const other = await run(echo, { stdin: true });
    const ended = new AbortController();
    const attachedToo = runtime.attach(other.id, streams({ stdin: new PassThrough(), stdout }), ended.signal);
    ended.abort();
    await assert.rejects(attachedToo);
    assert.equal((await state(other.id))?.state, "running");
  });

  test("without `stdin` input of the client is discarded", async () => {
    const { id, config } = await run(["bash", "-c", "cat; echo nothing; sleep 1000"]);
    await eventuallyPasses(async () => assert.equal(readFileSync(config.logPath, "utf8"), "nothing\n"));
    const stdin = new PassThrough();
    const gone = new AbortController();
    const attached = runtime.attach(id, streams({ stdin, stdout: new Kept() }), gone.signal);
    stdin.end(Buffer.alloc(1 << 20));
    await once(stdin, "close");
    gone.abort();
    await assert.rejects(attached);
  });
}

function terminalTests({ runtime, run, state }: Suite): void {
  test("a terminal: echo, size, exit code, and a log with all of it", async (context) => {
    if (find("script") === undefined) return context.skip("no script");
    const script =
      "trap 'echo resized' WINCH; test -t 0 && test -t 1 && echo on-$TERM; while read -r x; do echo got $x; [ $x = b ] && stty size; [ $x = end ] && exit 5; done";
    const { id, config } = await run(["bash", "-c", script], { stdin: true, tty: true });
    await eventuallyPasses(async () => assert.equal(readFileSync(config.logPath, "utf8"), "on-xterm\r\n"));
    const stdin = new PassThrough();
    const stdout = new Kept();
    const sizes = new PassThrough({ objectMode: true });
    const attached = runtime.attach(id, streams({ stdin, stdout, resize: sizes }), never);
    sizes.write({ width: 81, height: 25 });
    stdin.write("a\n");
    await stdout.until(/got a\r\n/);
    await eventuallyPasses(async () => {
      stdin.write("b\n");
      assert.match(stdout.text, /resized\r\n[\s\S]*\n25 81\r\n/);
    });
    stdin.write("end\n");
    await attached;
    assert.match(stdout.text, /got end\r\n$/);
    assert.equal((await state(id))?.exitCode, 5);
    assert.match(readFileSync(config.logPath, "utf8"), /got end\r\n$/);
  });

  test("a terminal without input reads no end of file; a failed start has its reason", async (context) => {
    if (find("script") === undefined) return context.skip("no script");
    const { id } = await run(["bash", "-c", "read -r; echo no"], { tty: true });
    await runtime.stopContainer(id, 0);
    assert.equal((await state(id))?.exitCode, 137);
    await assert.rejects(run(["no-such-program"], { tty: true }), /executable file not found/);
  });
}

function portForwardTests({ runtime, run }: Suite): void {
  test("port-forward reaches the pod's address and loopback, and nothing of another pod", async () => {
    const serve = (host: string): string =>
      `require("net").createServer({allowHalfOpen:true},(s)=>s.on("data",(d)=>s.write("echo "+d)).on("end",()=>s.end("bye"))).listen(0,${host},function(){console.log("port",this.address().port)})`;
    for (const host of ["process.env.DRAY_POD_IP", '"127.0.0.1"', '"0.0.0.0"', "undefined"]) {
      // This Node may lie in a folder that containers have of their own, such as /tmp.
      const node = { hostPath: process.execPath, containerPath: process.execPath, readOnly: true };
      const made = await run([process.execPath, "-e", serve(host)], { mounts: [node] });
      let port = 0;
      await eventuallyPasses(async () => {
        port = Number(/port (\d+)/.exec(readFileSync(made.config.logPath, "utf8"))?.[1]);
        assert.ok(port > 0);
      });
      const [near, far] = pair();
      const forwarded = runtime.portForward(made.sandboxId, port, far);
      const answer = new Kept();
      near.pipe(answer);
      near.end("hello");
      await forwarded;
      await eventuallyPasses(async () => assert.equal(answer.text, "echo hellobye", host));
      const stranger = await run(["sleep", "1000"]);
      await assert.rejects(
        runtime.portForward(stranger.sandboxId, port, pair()[1]),
        new RegExp(`dial tcp4 127\\.0\\.0\\.1:${port}: connect: connection refused`),
      );
    }
  });

  test("port-forward to a pod with the node's network reaches the node", async () => {
    const server = createServer((socket) => socket.end("node")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { id } = await runtime.runPodSandbox({ ...sandbox, uid: "host", hostNetwork: true });
    const [near, far] = pair();
    const answer = new Kept();
    near.pipe(answer);
    near.end();
    await runtime.portForward(id, (server.address() as { port: number }).port, far);
    await eventuallyPasses(async () => assert.equal(answer.text, "node"));
    server.close();
  });

  test("a pod that is gone is refused as any other", async () => {
    await assert.rejects(runtime.portForward("none", 80, pair()[1]), { reason: "SandboxNotFound" });
    await assert.rejects(runtime.attach("none", streams({}), never), { reason: "ContainerNotFound" });
  });
}

function adoptionTests({ isolation }: Suite): void {
  test("the input of a container outlives an agent that is killed", async () => {
    const own = mkdtempSync("/tmp/dk-");
    const agentFile = fileURLToPath(new URL("../../testing/agent.ts", import.meta.url));
    const flags = process.execArgv.filter((arg) => !arg.startsWith("--test"));
    const agent = spawn(process.execPath, [...flags, agentFile, own, `${isolation}+stdin`, ...echo], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(agent.stdout, "data");
    agent.kill("SIGKILL");
    await once(agent, "exit");
    const next = testRuntime(own, isolation);
    await next.start();
    const [found] = await next.listContainers();
    assert.equal(found?.state, "running");
    const stdin = new PassThrough();
    const stdout = new Kept();
    const attached = next.attach(found?.id ?? "", streams({ stdin, stdout }), never);
    stdin.end("back\n");
    await attached;
    assert.equal(stdout.text, "got back\nended\n");
    for (const { id } of await next.listPodSandboxes()) await next.removePodSandbox(id);
    await next.close();
    rmSync(own, { recursive: true });
  });
}

/** Two ends of a connection. */
function pair(): [Duplex, Duplex] {
  const [one, two] = [new PassThrough(), new PassThrough()];
  return [Duplex.from({ readable: one, writable: two }), Duplex.from({ readable: two, writable: one })];
}
