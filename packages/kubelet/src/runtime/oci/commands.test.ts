import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { Duplex, PassThrough } from "node:stream";
import { test } from "node:test";
import { eventuallyPasses } from "@dray/testing/eventually";
import type { OciRuntime } from "./runtime.ts";
import { plainSecurity } from "./testing/runtime.ts";
import { ended, options, sandboxOf, started, startRuntime, status, streams, suite } from "./testing/suite.ts";

startRuntime();

test("commands run beside the program", options, async () => {
  const sandbox = await sandboxOf();
  const { id } = await started(sandbox, "sleep 1000", {
    env: [["A", "b"]],
    security: { ...plainSecurity, runAsUser: 1000 },
  });
  const exec = (script: string): ReturnType<OciRuntime["execSync"]> =>
    suite.runtime.execSync(id, ["sh", "-c", script], 20_000);
  assert.deepEqual(await exec("echo $A; id -u; hostname; exit 4"), { exitCode: 4, output: "b\n1000\npod\n" });
  await assert.rejects(suite.runtime.execSync(id, ["/none"], 20_000), {
    reason: "ExecError",
    message: /"\/none".*no such file/,
  });
  await assert.rejects(suite.runtime.execSync(id, ["sleep", "77"], 300), { reason: "ExecTimeout" });
  await eventuallyPasses(async () => assert.doesNotMatch((await exec("ps")).output, /sleep 77/));
  const input = new PassThrough();
  const both = streams(input);
  const code = suite.runtime.exec(
    { id, command: ["sh", "-c", "cat; echo bad >&2; exit 9"], tty: false },
    both,
    new AbortController().signal,
  );
  input.end("typed");
  assert.equal(await code, 9);
  assert.match(both.text(), /typed/);
  assert.match(both.text(), /bad/);
  const controller = new AbortController();
  const gone = suite.runtime.exec({ id, command: ["sleep", "88"], tty: false }, streams(), controller.signal);
  await eventuallyPasses(async () => assert.match((await exec("ps")).output, /sleep 88/));
  controller.abort();
  await assert.rejects(gone);
  await eventuallyPasses(async () => assert.doesNotMatch((await exec("ps")).output, /sleep 88/));
  await suite.runtime.stopContainer(id, 0);
  await assert.rejects(exec("true"), { reason: "ContainerNotRunning" });
  await suite.runtime.removePodSandbox(sandbox);
});

test("terminals have a size and an input", options, async () => {
  const sandbox = await sandboxOf();
  const { id, config } = await started(
    sandbox,
    "test -t 0 && echo terminal; read line; echo got $line; sleep 1000",
    { tty: true, stdin: true },
  );
  await eventuallyPasses(() => assert.match(readFileSync(config.logPath, "utf8"), /terminal/));
  const input = new PassThrough();
  const attached = streams(input);
  const over = new AbortController();
  const attach = suite.runtime.attach(id, attached, over.signal);
  input.write("words\n");
  await eventuallyPasses(() => assert.match(attached.text(), /got words/));
  over.abort();
  await assert.rejects(attach);
  async function* sizes() {
    yield { width: 101, height: 37 };
    await new Promise(() => {});
  }
  const typed = new PassThrough();
  const shell = { ...streams(typed), stderr: undefined, resize: sizes() };
  const exit = suite.runtime.exec({ id, command: ["sh"], tty: true }, shell, new AbortController().signal);
  await eventuallyPasses(() => {
    typed.write("stty size; echo $TERM\n");
    assert.match(shell.text(), /37 101\r\nxterm/);
  });
  typed.write("exit 3\n");
  assert.equal(await exit, 3);
  await suite.runtime.removePodSandbox(sandbox);
});

test("an input that is attached once ends with its client", options, async () => {
  const sandbox = await sandboxOf();
  const { id, config } = await started(sandbox, "cat; echo end", { stdin: true, stdinOnce: true });
  const input = new PassThrough();
  const attached = streams(input);
  const attach = suite.runtime.attach(id, attached, new AbortController().signal);
  input.end("line\n");
  await attach;
  assert.equal((await ended(id)).exitCode, 0);
  assert.equal(readFileSync(config.logPath, "utf8"), "line\nend\n");
  await suite.runtime.removePodSandbox(sandbox);
});

test("twenty connections to a port of a pod take one process", options, async () => {
  const sandbox = await sandboxOf();
  await started(sandbox, "nc -lk -p 8081 -e cat || nc -ll -p 8081 -e cat");
  const dialers = (): number =>
    readdirSync("/proc")
      .filter((pid) => /^\d+$/.test(pid))
      .filter((pid) => {
        try {
          const parent = / (\d+) /.exec(
            readFileSync(`/proc/${pid}/stat`, "utf8").replace(/.*\) \S/, ""),
          )?.[1];
          return (
            Number(parent) === process.pid &&
            readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("input-type=commonjs")
          );
        } catch {
          return false;
        }
      }).length;
  const ask = async (): Promise<Duplex> => {
    const [mine, theirs] = pair();
    suite.runtime.portForward(sandbox, 8081, theirs).catch((error: Error) => mine.destroy(error));
    mine.write("question\n");
    const [text] = (await once(mine, "data")) as [Buffer];
    assert.equal(text.toString(), "question\n");
    return mine;
  };
  let first: Duplex | undefined;
  await eventuallyPasses(async () => {
    first = await ask();
  });
  const all = await Promise.all(Array.from({ length: 19 }, ask));
  assert.equal(dialers(), 1);
  for (const stream of [first!, ...all]) stream.end();
  await suite.runtime.removePodSandbox(sandbox);
});

test("ports of a pod are reached from within", options, async () => {
  const sandbox = await sandboxOf();
  await started(sandbox, "while :; do echo inside | nc -l -p 8080; done");
  const ask = async (pod: string, port: number): Promise<string> => {
    const [mine, theirs] = pair();
    const forward = suite.runtime.portForward(pod, port, theirs);
    mine.end("question\n");
    let text = "";
    const read = (async () => {
      for await (const chunk of mine) text += String(chunk);
    })();
    await forward;
    await read;
    return text;
  };
  await eventuallyPasses(async () => assert.equal(await ask(sandbox, 8080), "inside\n"));
  await assert.rejects(ask(sandbox, 9), {
    reason: "PortForwardError",
    message: /localhost:9 inside the pod.*connection refused/,
  });
  await assert.rejects(ask("none", 9), { reason: "SandboxNotFound" });
  await suite.runtime.removePodSandbox(sandbox);
  const server = createServer((socket) => socket.end("machine")).listen(0, "127.0.0.1");
  await once(server, "listening");
  const host = await sandboxOf({ hostNetwork: true });
  assert.equal(await ask(host, (server.address() as { port: number }).port), "machine");
  server.close();
  await suite.runtime.removePodSandbox(host);
});

/** Two ends of a connection. */
function pair(): [Duplex, Duplex] {
  const [one, two] = [new PassThrough(), new PassThrough()];
  return [Duplex.from({ readable: one, writable: two }), Duplex.from({ readable: two, writable: one })];
}

test("a log that is rotated loses no line", options, async () => {
  const sandbox = await sandboxOf();
  const { id, config } = await started(
    sandbox,
    "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done",
  );
  const parts: string[] = [];
  for (let n = 0; (await status(id)).state === "running" && n < 20; n++) {
    parts.push(`${config.logPath}.${n}`);
    await suite.runtime.rotateContainerLog(id, `${config.logPath}.${n}`);
  }
  await ended(id);
  const all = [...parts, config.logPath].map((path) => readFileSync(path, "utf8")).join("");
  assert.equal(all, Array.from({ length: 3000 }, (_, i) => `line ${i}\n`).join(""));
  await suite.runtime.removePodSandbox(sandbox);
});
