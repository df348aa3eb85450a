import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { after, before, describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { eventuallyPasses } from "@dray/testing/eventually";
import { container, isolations, sandbox, testRuntime } from "../../testing/agent.ts";
import { Kept } from "../../testing/kept.ts";
import { processesWith } from "../../testing/processes.ts";
import { RuntimeError } from "../error.ts";
import type { TerminalSize } from "../service.ts";
import { find } from "./isolation.ts";

const never = new AbortController().signal;

for (const isolation of isolations)
  describe(`exec, isolation ${isolation}`, () => {
    const suite = createSuite(isolation);
    for (const declare of [commandTests, streamTests, clientTests, terminalTests, containerEndTests])
      declare(suite);
  });

interface StartOptions {
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly sizes?: AsyncIterable<TerminalSize>;
  readonly signal?: AbortSignal;
}

/** A container that runs during the tests of one isolation. */
type Suite = ReturnType<typeof createSuite>;

function createSuite(isolation: string) {
  const root = mkdtempSync("/tmp/dk-");
  const runtime = testRuntime(root, isolation);
  let id = "";
  const alive = setInterval(() => {}, 1000);
  before(async () => {
    await runtime.start();
    const { id: sandboxId } = await runtime.runPodSandbox(sandbox);
    const made = await runtime.createContainer(sandboxId, {
      ...container(root, ["sleep", "1000"]),
      env: [
        ["COLOUR", "blue"],
        ["odd.name", "kept"],
      ],
      workingDir: "/usr",
    });
    id = made.id;
    await runtime.startContainer(id);
  });
  after(async () => {
    for (const { id: one } of await runtime.listPodSandboxes()) await runtime.removePodSandbox(one);
    await runtime.close();
    clearInterval(alive);
    rmSync(root, { recursive: true });
  });

  function start(command: readonly string[], options: StartOptions = {}) {
    const stdin = options.stdin ? new PassThrough() : undefined;
    const stdout = new Kept();
    const stderr = options.tty ? undefined : new Kept();
    const code = runtime.exec(
      { id, command, tty: options.tty ?? false },
      { stdin, stdout, stderr, resize: options.sizes },
      options.signal ?? never,
    );
    return { stdin, stdout, stderr, code };
  }
  const sh = (script: string, options?: StartOptions) => start(["sh", "-c", script], options);
  return { isolation, root, runtime, containerId: () => id, start, sh };
}

function commandTests({ start, sh }: Suite): void {
  test("outputs apart, exit code, environment and working directory of the container", async () => {
    const { stdout, stderr, code } = sh(
      "pwd; echo $COLOUR; echo oops >/dev/stderr; echo more >>/dev/stdout; exit 3",
    );
    assert.equal(await code, 3);
    assert.equal(stdout.text, "/usr\nblue\nmore\n");
    assert.equal(stderr?.text, "oops\n");
    assert.ok(stdout.writableFinished);
    const names = start(["env"]);
    await names.code;
    assert.match(names.stdout.text, /^odd\.name=kept$/m);
  });

  test("tar unpacks files of other owners, as kubectl cp wants it", async () => {
    const script = [
      'cd "$(mktemp -d)" && mkdir to && echo text >file',
      "tar --owner=1234 --group=1234 -cf archive.tar file && tar -xmf archive.tar -C to && cat to/file",
      'code=$?; rm -r "$PWD"; exit $code',
    ];
    const { stdout, stderr, code } = sh(script.join("\n"));
    assert.deepEqual([await code, stdout.text, stderr?.text], [0, "text\n", ""]);
  });

  test("a signal that ends the command counts as 128 and its number", async () => {
    assert.equal(await sh("kill -9 $$").code, 137);
  });
}

function streamTests({ isolation, root, runtime, containerId, start, sh }: Suite): void {
  test("20 MiB through a command come out unchanged, however slowly they are taken", async () => {
    const bytes = Buffer.alloc(20 << 20, "0123456789abcde\n");
    const { stdin, stdout, code } = start(["cat"], { stdin: true });
    stdin?.end(bytes);
    assert.equal(await code, 0);
    assert.ok(stdout.bytes.equals(bytes));
  });

  test("a client that reads nothing stops the command instead of filling memory", async () => {
    const slow = new Writable({ highWaterMark: 1024, write: () => {} });
    const stop = new AbortController();
    const code = runtime.exec(
      {
        id: containerId(),
        command: ["sh", "-c", `yes | head -c 50000000; echo done >'${root}/${isolation}-done'`],
        tty: false,
      },
      { stdin: undefined, stdout: slow, stderr: undefined, resize: undefined },
      stop.signal,
    );
    await wait(300);
    assert.ok(!existsSync(`${root}/${isolation}-done`));
    assert.ok(slow.writableLength < 1 << 20);
    stop.abort();
    await assert.rejects(code);
  });

  test("a command that does not read its input ends all the same", async () => {
    const { stdin, code } = sh("exit 0", { stdin: true });
    stdin?.write(Buffer.alloc(1 << 20));
    assert.equal(await code, 0);
  });
}

function clientTests({ root, containerId, start, sh }: Suite): void {
  test("a command that cannot be started fails with the reason", async () => {
    await assert.rejects(start(["no-such-program"]).code, {
      name: "RuntimeError",
      message:
        'unable to start container process: exec: "no-such-program": executable file not found in $PATH',
    });
    await assert.rejects(start(["/usr"]).code, /permission denied/);
    await assert.rejects(start([]).code, RuntimeError);
  });

  test("a client that disconnects ends the command and its children", async () => {
    const gone = new AbortController();
    const mark = `${1_000_000 + process.pid}`;
    const { code } = start(["sh", "-c", `setsid sleep ${mark} & wait`, mark], { signal: gone.signal });
    await eventuallyPasses(async () => {
      for (const program of ["sh", "sleep"]) assert.ok(processesWith(program, mark).length > 0, program);
    });
    gone.abort();
    await assert.rejects(code);
    await eventuallyPasses(async () => assert.deepEqual(processesWith(mark), []));
    await assert.rejects(sh("true", { signal: gone.signal }).code);
  });

  test("many commands at once leave no files in the container's directory", async () => {
    const directory = join(root, "runtime/containers", containerId());
    const before = readdirSync(directory).sort();
    const all = Array.from({ length: 30 }, (_, index) => sh(`echo ${index}; exit ${index}`));
    for (const [index, { code, stdout }] of all.entries()) {
      assert.equal(await code, index);
      assert.equal(stdout.text, `${index}\n`);
    }
    assert.deepEqual(readdirSync(directory).sort(), before);
    const files = readdirSync("/proc/self/fd").length;
    await sh("true").code;
    await eventuallyPasses(async () => assert.ok(readdirSync("/proc/self/fd").length <= files));
  });
}

function terminalTests({ start }: Suite): void {
  test("a terminal: one output, sizes as they change, exit code", async (context) => {
    if (find("script") === undefined) return context.skip("no script");
    const sizes = new PassThrough({ objectMode: true });
    sizes.write({ width: 100, height: 30 });
    const { stdin, stdout, code } = start(["bash", "--norc"], { stdin: true, tty: true, sizes });
    stdin?.write("test -t 0 && test -t 1 && test -t 2 && echo is-a-$TERM\n");
    await stdout.until(/is-a-xterm\r\n/);
    const size = async (wanted: RegExp): Promise<void> => {
      const seen = stdout.text.length;
      while (!wanted.test(stdout.text.slice(seen))) {
        stdin?.write("stty size\n");
        await wait(50);
      }
    };
    await size(/^30 100\r$/m);
    sizes.write({ width: 77, height: 22 });
    await size(/^22 77\r$/m);
    stdin?.write("exit 4\n");
    assert.equal(await code, 4);
  });

  test("a terminal's command ends with its client", async (context) => {
    if (find("script") === undefined) return context.skip("no script");
    const gone = new AbortController();
    const mark = `${2_000_000 + process.pid}`;
    const { stdout, code } = start(
      ["bash", "-c", "trap '' HUP; echo here; while :; do sleep 1000; done", mark],
      {
        tty: true,
        signal: gone.signal,
      },
    );
    await stdout.until(/here/);
    assert.ok(processesWith("bash", mark).length > 0);
    gone.abort();
    await assert.rejects(code);
    await eventuallyPasses(async () => assert.deepEqual(processesWith(mark), []));
  });
}

function containerEndTests({ root, runtime }: Suite): void {
  test("the end of the container ends its commands", async () => {
    const { id: sandboxId } = await runtime.runPodSandbox({ ...sandbox, uid: "other" });
    const made = await runtime.createContainer(sandboxId, {
      ...container(root, ["sleep", "1000"]),
      logPath: `${root}/other.log`,
    });
    await runtime.startContainer(made.id);
    const stdout = new Kept();
    const code = runtime.exec(
      { id: made.id, command: ["sh", "-c", "echo here; sleep 1000"], tty: false },
      { stdin: undefined, stdout, stderr: undefined, resize: undefined },
      never,
    );
    await stdout.until(/here/);
    await runtime.stopContainer(made.id, 0);
    assert.equal(await code, 137);
    await assert.rejects(
      runtime.exec(
        { id: made.id, command: ["true"], tty: false },
        { stdin: undefined, stdout: undefined, stderr: undefined, resize: undefined },
        never,
      ),
      { reason: "ContainerNotRunning" },
    );
    assert.equal(readFileSync(`${root}/other.log`, "utf8"), "");
  });
}
