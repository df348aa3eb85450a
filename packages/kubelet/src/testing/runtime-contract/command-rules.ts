import assert from "node:assert/strict";
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { eventuallyPasses } from "@dray/testing/eventually";
import { Kept } from "../kept.ts";
import { never, noStreams } from "./pod.ts";
import type { Rule } from "./rule.ts";
import type { Lacking } from "./types.ts";

/** Rules of commands in containers. */
export function execRules(rule: Rule, cannot: Lacking): void {
  rule("commands run beside the program, and say how they ended", async (pod) => {
    await pod.run();
    const { id } = await pod.start("sleep 1000", { env: [["A", "1"]] });
    const exec = (script: string, timeout = 30_000) =>
      pod.node.service.execSync(id, ["sh", "-c", script], timeout);
    assert.deepEqual(await exec("echo out $A; exit 0"), { exitCode: 0, output: "out 1\n" });
    const failed = await exec("echo out; echo err >&2; exit 5");
    assert.equal(failed.exitCode, 5);
    assert.match(failed.output, /out\n/);
    assert.match(failed.output, /err\n/);
    assert.equal((await exec("head -c 100000 /dev/zero")).output.length, 10 << 10);
    await assert.rejects(
      exec("sleep 1000", 1000),
      (error: Error & { reason?: string }) => error.reason === "ExecTimeout",
    );
    // Some runtimes cannot start it, others end it with 126 or 127.
    const missing = await pod.node.service.execSync(id, ["/no/such"], 30_000).then(
      ({ exitCode }) => exitCode,
      ({ reason }: { reason: string }) => reason,
    );
    assert.ok(missing === "ExecError" || missing === 126 || missing === 127, String(missing));
  });

  rule("a command has the client's streams", async (pod) => {
    await pod.run();
    const { id } = await pod.start("sleep 1000");
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const streams = { ...noStreams, stdin, stdout, stderr };
    const code = pod.node.service.exec(
      { id, command: ["sh", "-c", "cat; echo err >&2; exit 4"], tty: false },
      streams,
      never,
    );
    const outputs = Promise.all([text(stdout), text(stderr)]);
    const long = "x".repeat(300_000);
    stdin.end(`hello ${long}`);
    assert.equal(await code, 4);
    assert.deepEqual(await outputs, [`hello ${long}`, "err\n"]);
    assert.equal(await pod.node.service.exec({ id, command: ["true"], tty: false }, noStreams, never), 0);
  });

  rule(
    "a command in a terminal sees its size",
    async (pod) => {
      await pod.run();
      const { id } = await pod.start("sleep 1000");
      const stdin = new PassThrough();
      const stdout = new Kept();
      async function* resize() {
        yield { width: 111, height: 22 };
        await new Promise(() => {});
      }
      const script = "until [ \"$(stty size)\" = '22 111' ]; do sleep 0.05; done; echo size; tty";
      const streams = { ...noStreams, stdin, stdout, resize: resize() };
      assert.equal(
        await pod.node.service.exec({ id, command: ["sh", "-c", script], tty: true }, streams, never),
        0,
      );
      assert.match(stdout.text, /size\r\n\/dev\/pts\/\d+\r\n/);
    },
    "terminals",
  );

  rule("a command whose client goes away rejects at once", async (pod) => {
    await pod.run();
    mkdirSync(join(pod.folder, "v"));
    const alive = join(pod.folder, "v/alive");
    const { id } = await pod.start("sleep 1000", {
      env: [["V", "/v"]],
      mounts: [{ hostPath: join(pod.folder, "v"), containerPath: "/v", readOnly: false }],
    });
    const gone = new AbortController();
    const stdout = new Kept();
    const script = `cd "$V" && echo x > alive && echo on; while :; do echo x >> alive; sleep 0.05; done`;
    const command = ["sh", "-c", script];
    const code = pod.node.service.exec({ id, command, tty: false }, { ...noStreams, stdout }, gone.signal);
    const rejected = assert.rejects(code);
    await stdout.until(/on/);
    gone.abort();
    await rejected;
    if (cannot["kills commands of clients that go away"] !== undefined) return;
    await eventuallyPasses(async () => {
      const size = statSync(alive).size;
      await new Promise((resolve) => setTimeout(resolve, 300));
      assert.equal(statSync(alive).size, size);
    });
  });
}

/** Rules of clients that attach. */
export function attachRules(rule: Rule): void {
  rule("a client that attaches talks with the program", async (pod) => {
    await pod.run();
    const { id } = await pod.create("read line; echo got $line; echo err >&2; read line; exit 6", {
      stdin: true,
      stdinOnce: true,
    });
    await pod.node.service.startContainer(id);
    const [stdin, stdout, stderr] = [new PassThrough(), new Kept(), new Kept()];
    const attached = pod.node.service.attach(id, { ...noStreams, stdin, stdout, stderr }, never);
    stdin.write("hello\n");
    await stdout.until(/got hello/);
    // If both are one, the order is kept.
    await Promise.race([stderr.until(/err/), stdout.until(/err/)]);
    stdin.end("done\n");
    await attached;
    assert.equal((await pod.exited(id)).exitCode, 6);
  });
}
