import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { duplexPair, PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import type {
  ContainerConfig,
  ContainerIdentity,
  SandboxConfig,
  SandboxIdentity,
  SecurityConfig,
} from "../runtime/config.ts";
import type { Container, LogLine, NodeRuntime } from "../runtime/service.ts";
import { eventually } from "./eventually.ts";
import { Kept } from "./kept.ts";

/** An ability that a runtime may lack. */
export type Ability =
  | "network of its own"
  | "hostname of its own"
  | "name servers of its own"
  | "program of the image"
  | "device nodes"
  | "private processes"
  | "bounds of resources"
  | "rotation under readers"
  | "read-only mounts"
  | "terminals"
  | "kills commands of clients that go away"
  | "statistics";

/** The machine that the suite runs on. */
export interface ContractMachine {
  /** A folder for logs and volumes. */
  readonly folder: string;
  /** An image with a shell, whose own program is that shell. */
  readonly image: string;
  /** Folder of the runtime's CDI specs. */
  readonly cdi: string;
  /** Makes a runtime on the existing state, as an agent does; not started. */
  open(): NodeRuntime;
  /** Removes everything. */
  close(): Promise<void>;
}

export interface ContractOptions {
  /** Abilities that the runtime lacks, with the reasons. */
  readonly cannot?: Readonly<Partial<Record<Ability, string>>>;
  /** Why there is no such runtime here; undefined if there is. */
  readonly skip?: string | undefined;
  begin(): Promise<ContractMachine>;
}

export const plainSecurity: SecurityConfig = {
  privileged: false,
  supplementalGroups: [],
  readOnlyRootFilesystem: false,
  noNewPrivileges: false,
  addCapabilities: [],
  dropCapabilities: [],
  seccomp: "unconfined",
};

/** A pod with a sandbox and its containers. */
export class ContractPod {
  readonly machine: ContractMachine;
  node: NodeRuntime;
  readonly uid: string = randomUUID();
  readonly folder: string;
  sandboxId = "";
  #containers = 0;

  constructor(machine: ContractMachine, node: NodeRuntime) {
    this.machine = machine;
    this.node = node;
    this.folder = join(machine.folder, this.uid);
    mkdirSync(this.folder, { recursive: true });
  }

  async run(config: Partial<SandboxConfig> = {}): Promise<readonly string[]> {
    const { id, unsupported } = await this.node.service.runPodSandbox({
      namespace: "default",
      name: "pod",
      uid: this.uid,
      attempt: 0,
      hostname: "pod",
      labels: { app: "contract" },
      annotations: {},
      logDirectory: join(this.folder, "logs"),
      dns: undefined,
      ports: [],
      hostNetwork: false,
      hostPID: false,
      hostIPC: false,
      shareProcessNamespace: false,
      sysctls: {},
      security: plainSecurity,
      resources: undefined,
      runtimeHandler: "",
      ...config,
    });
    this.sandboxId = id;
    return unsupported;
  }

  /** Creates a container that runs a script. Returns its ID and ignored fields. */
  async create(
    script: string,
    config: Partial<ContainerConfig> = {},
  ): Promise<{ id: string; unsupported: readonly string[]; logPath: string }> {
    const { image } = this.machine;
    const imageRef = (await this.node.images.imageStatus(image, true))?.ref;
    assert.ok(imageRef !== undefined, `the image ${image} is there`);
    const number = this.#containers++;
    const logPath = join(this.folder, "logs", `c${number}`, "0.log");
    const made = await this.node.service.createContainer(this.sandboxId, {
      name: `c${number}`,
      attempt: 0,
      hash: "hash",
      logPath,
      terminationLog: "",
      image,
      imageRef,
      command: ["sh", "-c", script],
      args: [],
      workingDir: undefined,
      env: [],
      mounts: [],
      devices: [],
      cdiDevices: [],
      annotations: {},
      security: plainSecurity,
      resources: {},
      stdin: false,
      stdinOnce: false,
      tty: false,
      ...config,
    });
    return { ...made, logPath };
  }

  async start(
    script: string,
    config: Partial<ContainerConfig> = {},
  ): Promise<{ id: string; unsupported: readonly string[]; logPath: string }> {
    const made = await this.create(script, config);
    await this.node.service.startContainer(made.id);
    return made;
  }

  /** Runs a script to its end. Returns its output, and the container. */
  async ended(script: string, config: Partial<ContainerConfig> = {}) {
    const { id, unsupported, logPath } = await this.start(script, config);
    const container = await this.exited(id);
    const lines = await collect(this.node.service.readLog(logPath, undefined));
    return { output: textOf(lines), container, unsupported };
  }

  async find(id: string): Promise<Container> {
    const all = await this.node.service.listContainers(this.uid);
    const container = all.find((each) => each.id === id);
    assert.ok(container !== undefined, `container ${id} is listed`);
    return container;
  }

  async exited(id: string): Promise<Container> {
    let container: Container | undefined;
    await eventually(async () => {
      container = await this.find(id);
      assert.equal(container.state, "exited");
    });
    return container!;
  }

  async remove(): Promise<void> {
    if (this.sandboxId === "") return;
    await this.node.service.stopPodSandbox(this.sandboxId);
    await this.node.service.removePodSandbox(this.sandboxId);
  }
}

/** A runtime may keep more than the identity. */
const sandboxIdentity = ({ namespace, name, uid, attempt }: SandboxIdentity): SandboxIdentity => ({
  namespace,
  name,
  uid,
  attempt,
});
const containerIdentity = ({ name, attempt, hash, logPath, terminationLog }: ContainerIdentity) => ({
  name,
  attempt,
  hash,
  logPath,
  terminationLog,
});

/** All lines of a reader. */
async function collect(lines: AsyncIterable<LogLine>): Promise<LogLine[]> {
  const all: LogLine[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

const textOf = (lines: readonly LogLine[]): string =>
  Buffer.concat(lines.map((line) => line.text)).toString("utf8");

const noStreams = { stdin: undefined, stdout: undefined, stderr: undefined, resize: undefined };
const never = new AbortController().signal;

/** Contract of all runtimes of the agent. */
export function runtimeContract(name: string, { cannot = {}, skip, begin }: ContractOptions): void {
  describe(`${name}: the contract of runtimes`, { skip: skip ?? false }, () => {
    let machine: ContractMachine;
    let node: NodeRuntime;

    before(async () => {
      machine = await begin();
      node = machine.open();
      await node.service.start();
    });
    after(async () => {
      await node?.service.close();
      await machine?.close();
    });

    const rule: Rule = (title, body, ability) => {
      // Abilities that the runtime lacks.
      if (ability !== undefined && cannot[ability] !== undefined) return;
      test(title, async () => {
        const pod = new ContractPod(machine, node);
        try {
          await body(pod);
        } finally {
          await pod.remove();
        }
      });
    };

    describe("side by side", { concurrency: 4 }, () => rules(rule, cannot));

    rule("an agent that comes back knows everything, and goes on", async (pod) => {
      await pod.run({ attempt: 1 });
      const go = join(pod.folder, "go");
      mkdirSync(go);
      const mounts = [{ hostPath: go, containerPath: "/go", readOnly: true }];
      const running = await pod.start("echo on; sleep 1000");
      const ending = await pod.start("until [ -e $GO/on ]; do sleep 0.05; done; echo over; exit 8", {
        env: [["GO", "/go"]],
        mounts,
      });
      const before = await node.service.listContainers(pod.uid);
      await node.service.close();
      writeFileSync(join(go, "on"), "");
      await new Promise((resolve) => setTimeout(resolve, 500));
      node = machine.open();
      await node.service.start();
      pod.node = node;
      const [sandbox] = await node.service.listPodSandboxes(pod.uid);
      assert.deepEqual([sandbox?.id, sandbox?.ready, sandbox?.config.attempt], [pod.sandboxId, true, 1]);
      const ended = await pod.exited(ending.id);
      assert.equal(ended.exitCode, 8);
      const known = before.find(({ id }) => id === running.id);
      assert.deepEqual(
        containerIdentity((await pod.find(running.id)).config),
        known && containerIdentity(known.config),
      );
      assert.equal((await pod.find(running.id)).state, "running");
      assert.equal(textOf(await collect(node.service.readLog(ending.logPath, undefined))), "over\n");
      const third = await pod.create("echo third", {
        name: "third",
        logPath: join(pod.folder, "logs/third.log"),
      });
      await node.service.startContainer(third.id);
      assert.equal((await pod.exited(third.id)).exitCode, 0);
    });
  });
}

/** Declares a test of one rule with a pod of its own. */
type Rule = (title: string, body: (pod: ContractPod) => Promise<void>, ability?: Ability) => void;

/** Rules that can run concurrently. */
function rules(rule: Rule, cannot: NonNullable<ContractOptions["cannot"]>): void {
  rule("it has a name and a version", async (pod) => {
    assert.match(pod.node.service.name, /^[a-z]/);
    assert.notEqual(pod.node.service.version, "");
  });

  rule("a sandbox is listed with the pod it is for, until it is removed", async (pod) => {
    await pod.run({ attempt: 3 });
    const [sandbox, ...others] = await pod.node.service.listPodSandboxes(pod.uid);
    assert.deepEqual(others, []);
    assert.deepEqual(sandbox && sandboxIdentity(sandbox.config), {
      namespace: "default",
      name: "pod",
      uid: pod.uid,
      attempt: 3,
    });
    assert.equal(sandbox?.ready, true);
    assert.ok(Math.abs(Date.now() - (sandbox?.createdAt ?? 0)) < 60_000);
    assert.ok((await pod.node.service.listPodSandboxes()).some(({ id }) => id === pod.sandboxId));
    assert.deepEqual(await pod.node.service.listPodSandboxes("other"), []);
    await pod.node.service.stopPodSandbox(pod.sandboxId);
    const [stopped] = await pod.node.service.listPodSandboxes(pod.uid);
    assert.equal(stopped?.ready, false);
    await pod.node.service.removePodSandbox(pod.sandboxId);
    assert.deepEqual(await pod.node.service.listPodSandboxes(pod.uid), []);
  });

  rule("to stop and remove twice, or what is not there, is no error", async (pod) => {
    await pod.run();
    const { id } = await pod.start("sleep 1000");
    for (let times = 0; times < 2; times++) {
      await pod.node.service.stopContainer(id, 0);
      await pod.node.service.removeContainer(id);
      await pod.node.service.stopPodSandbox(pod.sandboxId);
    }
    for (let times = 0; times < 2; times++) await pod.node.service.removePodSandbox(pod.sandboxId);
  });

  rule("a container is created, runs and ends with its exit code", async (pod) => {
    await pod.run();
    const { id, logPath } = await pod.create("read line < /dev/null; exit 3", { attempt: 2 });
    const created = await pod.find(id);
    assert.equal(created.state, "created");
    assert.equal(created.sandboxId, pod.sandboxId);
    assert.deepEqual(containerIdentity(created.config), {
      name: "c0",
      attempt: 2,
      hash: "hash",
      logPath,
      terminationLog: "",
    });
    assert.deepEqual([created.startedAt, created.exitCode], [undefined, undefined]);
    const before = Date.now();
    await pod.node.service.startContainer(id);
    const exited = await pod.exited(id);
    assert.deepEqual([exited.exitCode, exited.reason], [3, "Error"]);
    assert.ok(
      (exited.startedAt ?? 0) >= before - 1000 && (exited.finishedAt ?? 0) >= (exited.startedAt ?? 0),
    );
    const fine = await pod.ended("exit 0");
    assert.deepEqual([fine.container.exitCode, fine.container.reason], [0, "Completed"]);
    await pod.node.service.removeContainer(id);
    const left = await pod.node.service.listContainers(pod.uid);
    assert.deepEqual(
      left.map((each) => each.id),
      [fine.container.id],
    );
  });

  rule("the image of a container is known by the reference that images have", async (pod) => {
    await pod.run();
    const { id } = await pod.create("exit 0");
    const image = await pod.node.images.imageStatus(pod.machine.image, true);
    assert.equal((await pod.find(id)).imageRef, image?.ref);
  });

  rule("command, arguments, environment and working directory are the pod's", async (pod) => {
    await pod.run();
    const { output } = await pod.ended("", {
      command: ["sh", "-c"],
      args: ['echo "$0|$1|$A|$B|$PWD"', "x y", "$z"],
      env: [
        ["A", "1 2"],
        ["B", 'ü"$HOME\n'],
      ],
      workingDir: "/tmp",
    });
    assert.equal(output, 'x y|$z|1 2|ü"$HOME\n|/tmp\n');
  });

  rule(
    "the program of the image gets the pod's arguments",
    async (pod) => {
      await pod.run();
      const { output } = await pod.ended("", { command: [], args: ["sh", "-c", "echo $0", "mine"] });
      assert.equal(output, "mine\n");
    },
    "program of the image",
  );

  // If a runtime cannot mount at the container's paths, values that begin with a volume's path are rewritten.
  rule("mounts are where the pod wants them, and read-only ones are", async (pod) => {
    await pod.run();
    for (const each of ["rw", "ro"]) mkdirSync(join(pod.folder, each));
    writeFileSync(join(pod.folder, "ro/file"), "content\n");
    const script =
      'cat "$RO/file"; (echo x > "$RO/x") 2>/dev/null || echo refused; echo written > "$RW/file"';
    const { output } = await pod.ended(script, {
      env: [
        ["RO", "/ro"],
        ["RW", "/rw"],
      ],
      mounts: [
        { hostPath: join(pod.folder, "rw"), containerPath: "/rw", readOnly: false },
        { hostPath: join(pod.folder, "ro"), containerPath: "/ro", readOnly: true },
      ],
    });
    assert.match(output, /^content\n/);
    assert.equal(readFileSync(join(pod.folder, "rw/file"), "utf8"), "written\n");
    if (cannot["read-only mounts"] === undefined) assert.equal(output, "content\nrefused\n");
  });

  rule(
    "device nodes of device plugins are there",
    async (pod) => {
      await pod.run();
      const { output } = await pod.ended("head -c 3 /dev/mine | wc -c; [ -c /dev/mine ] && echo device", {
        devices: [{ hostPath: "/dev/zero", containerPath: "/dev/mine", permissions: "r" }],
      });
      assert.equal(output, "3\ndevice\n");
    },
    "device nodes",
  );

  rule("CDI devices are applied, and one that is missing refuses the container", async (pod) => {
    await pod.run();
    const kind = `contract.example/c${pod.uid.slice(0, 8)}`;
    writeFileSync(
      join(pod.machine.cdi, `${pod.uid}.json`),
      JSON.stringify({
        cdiVersion: "0.6.0",
        kind,
        devices: [{ name: "one", containerEdits: { env: ["CDI_DEVICE=one"] } }],
      }),
    );
    // Runtimes read the folder after a change, with a delay.
    await eventually(async () => {
      const { output } = await pod.ended("echo $CDI_DEVICE", { cdiDevices: [`${kind}=one`] });
      assert.equal(output, "one\n");
    });
    await assert.rejects(
      pod.start("exit 0", { cdiDevices: [`${kind}=two`] }),
      (error: Error) => error.name === "RuntimeError" && error.message.includes(`${kind}=two`),
    );
  });

  rule("the user and rights of a container are those of the pod, or reported as unsupported", async (pod) => {
    await pod.run();
    const security: SecurityConfig = {
      ...plainSecurity,
      runAsUser: 1234,
      runAsGroup: 2345,
      supplementalGroups: [3456],
      readOnlyRootFilesystem: true,
      noNewPrivileges: true,
      dropCapabilities: ["ALL"],
    };
    const script =
      "id -u; id -g; id -G; touch /tmp/x$$ 2>&1 && rm /tmp/x$$; grep -E 'NoNewPrivs|CapBnd' /proc/self/status";
    const { output, unsupported } = await pod.ended(script, { security });
    if (unsupported.length > 0) return;
    const [user, group, groups, touch, ...status] = output.trim().split("\n");
    assert.deepEqual([user, group], ["1234", "2345"]);
    assert.ok(groups?.split(" ").includes("3456"), groups);
    assert.match(touch ?? "", /Read-only file system/);
    assert.match(status.join("\n"), /CapBnd:\s+0+$/m);
    assert.match(status.join("\n"), /NoNewPrivs:\s+1/);
  });

  rule("a stop is SIGTERM, and SIGKILL after the grace", async (pod) => {
    await pod.run();
    const polite = await pod.start("trap 'exit 7' TERM; echo ready; while :; do sleep 0.1; done");
    const rude = await pod.start("trap '' TERM; echo ready; while :; do sleep 0.1; done");
    for (const { logPath } of [polite, rude]) await untilPrinted(pod.node, logPath, "ready\n");
    await Promise.all([
      pod.node.service.stopContainer(polite.id, 30_000),
      pod.node.service.stopContainer(rude.id, 1000),
    ]);
    const ended = [await pod.find(polite.id), await pod.find(rude.id)];
    assert.deepEqual(
      ended.map(({ state, exitCode }) => [state, exitCode]),
      [
        ["exited", 7],
        ["exited", 137],
      ],
    );
  });

  rule("what its program left behind ends with a container", async (pod) => {
    await pod.run();
    mkdirSync(join(pod.folder, "v"));
    const mounts = [{ hostPath: join(pod.folder, "v"), containerPath: "/v", readOnly: false }];
    const { id } = await pod.start(
      "(while :; do echo x >> $V/alive; sleep 0.05; done) & until [ -e $V/alive ]; do :; done",
      {
        env: [["V", "/v"]],
        mounts,
      },
    );
    await pod.exited(id);
    await pod.node.service.stopContainer(id, 0);
    const size = () => readFileSync(join(pod.folder, "v/alive"), { flag: "a+" }).length;
    const first = size();
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal(size(), first);
  });

  rule("a sandbox for a handler that the runtime lacks is refused", async (pod) => {
    await assert.rejects(pod.run({ runtimeHandler: "no-such" }), /no runtime for "no-such" is configured/);
  });

  rule("a program that is not there is a RunContainerError", async (pod) => {
    await pod.run();
    const { id } = await pod.create("", { command: ["/no/such/program"] });
    await assert.rejects(
      pod.node.service.startContainer(id),
      (error: Error & { reason?: string }) =>
        error.reason === "RunContainerError" && /no such file|not found/i.test(error.message),
    );
    await pod.node.service.removeContainer(id);
  });

  rule("logs have every line once, with its time, and lines of any length whole", async (pod) => {
    await pod.run();
    const before = Date.now();
    // The outputs may be copied separately: a line of one can split a long one of the other.
    const script =
      "echo one; echo two >&2; sleep 0.5; head -c 100000 /dev/zero | tr '\\0' x; echo; printf end";
    const { id, logPath } = await pod.start(script);
    await pod.exited(id);
    const lines = await collect(pod.node.service.readLog(logPath, undefined));
    const texts = lines.map((line) => line.text.toString("utf8"));
    assert.deepEqual(
      texts.filter((each) => each.length < 10).toSorted(),
      ["end", "one\n", "two\n"].toSorted(),
      "the short ones",
    );
    assert.deepEqual(
      texts.filter((each) => each.length >= 10),
      [`${"x".repeat(100_000)}\n`],
    );
    for (const { at } of lines) assert.ok(at >= before - 1000 && at <= Date.now() + 1000, String(at));
  });

  rule("a log is followed until the container ends, or the reader gives up", async (pod) => {
    await pod.run();
    const { logPath } = await pod.start("for i in 1 2 3; do echo $i; sleep 0.3; done");
    const lines = await collect(pod.node.service.readLog(logPath, never));
    assert.equal(textOf(lines), "1\n2\n3\n");
    const other = await pod.start("echo here; sleep 1000");
    const stop = new AbortController();
    const seen: LogLine[] = [];
    for await (const line of pod.node.service.readLog(other.logPath, stop.signal)) {
      seen.push(line);
      stop.abort();
    }
    assert.equal(textOf(seen), "here\n");
  });

  rule(
    "a log that is rotated loses nothing",
    async (pod) => {
      await pod.run();
      const { id, logPath } = await pod.start("for i in $(seq 200); do echo $i; sleep 0.01; done");
      const followed = collect(pod.node.service.readLog(logPath, never));
      await untilPrinted(pod.node, logPath, "20\n");
      const old = `${logPath}.old`;
      await pod.node.service.rotateContainerLog(id, old);
      const all = Array.from({ length: 200 }, (_, index) => `${index + 1}\n`).join("");
      assert.equal(textOf(await followed), all);
      await pod.exited(id);
      const parts = [old, logPath].map((path) => collect(pod.node.service.readLog(path, undefined)));
      const [first, second] = (await Promise.all(parts)).map(textOf);
      assert.equal(`${first}${second}`, all);
      assert.match(first ?? "", /^1\n/);
      assert.notEqual(second, all);
    },
    "rotation under readers",
  );

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
    const code = pod.node.service.exec(id, ["sh", "-c", "cat; echo err >&2; exit 4"], false, streams, never);
    const outputs = Promise.all([text(stdout), text(stderr)]);
    const long = "x".repeat(300_000);
    stdin.end(`hello ${long}`);
    assert.equal(await code, 4);
    assert.deepEqual(await outputs, [`hello ${long}`, "err\n"]);
    assert.equal(await pod.node.service.exec(id, ["true"], false, noStreams, never), 0);
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
      assert.equal(await pod.node.service.exec(id, ["sh", "-c", script], true, streams, never), 0);
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
    const script = `echo on; cd "$V" && while :; do echo x >> alive; sleep 0.05; done`;
    const command = ["sh", "-c", script];
    const code = pod.node.service.exec(id, command, false, { ...noStreams, stdout }, gone.signal);
    const rejected = assert.rejects(code);
    await stdout.until(/on/);
    gone.abort();
    await rejected;
    if (cannot["kills commands of clients that go away"] !== undefined) return;
    await eventually(async () => {
      const size = statSync(alive).size;
      await new Promise((resolve) => setTimeout(resolve, 300));
      assert.equal(statSync(alive).size, size);
    });
  });

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

  rule(
    "a port of the pod is reached, and one that nobody listens on says so",
    async (pod) => {
      await pod.run();
      await pod.start("while :; do echo hello | nc -l -p 8080; done");
      await eventually(async () => {
        const [near, far] = duplexPair();
        const forwarded = pod.node.service.portForward(pod.sandboxId, 8080, far);
        const said = text(near);
        near.end();
        const [answer] = await Promise.all([said, forwarded]);
        assert.equal(answer, "hello\n");
      });
      const [, far] = duplexPair();
      await assert.rejects(pod.node.service.portForward(pod.sandboxId, 9, far), /refused/);
    },
    "network of its own",
  );

  rule(
    "a pod has an address that the machine reaches, and not the machine's",
    async (pod) => {
      await pod.run();
      const [sandbox] = await pod.node.service.listPodSandboxes(pod.uid);
      const [address] = sandbox?.ips ?? [];
      assert.match(address ?? "", /^[0-9.]+$/);
      await pod.start("while :; do echo hello | nc -l -p 8080; done");
      await eventually(async () => assert.equal(await text(connect(8080, address)), "hello\n"));
      const server = createServer((socket) => socket.end("machine")).listen(0, "127.0.0.1");
      try {
        await new Promise((resolve) => server.once("listening", resolve));
        const { port } = server.address() as { port: number };
        const { output } = await pod.ended(`nc 127.0.0.1 ${port} < /dev/null || echo refused`);
        assert.match(output, /refused/);
      } finally {
        server.close();
      }
    },
    "network of its own",
  );

  rule("a pod with the machine's network has its ports", async (pod) => {
    await pod.run({ hostNetwork: true });
    const server = createServer((socket) => socket.end("machine\n")).listen(0, "127.0.0.1");
    try {
      await new Promise((resolve) => server.once("listening", resolve));
      const { port } = server.address() as { port: number };
      const { output } = await pod.ended(
        `nc 127.0.0.1 ${port} < /dev/null 2> /dev/null || bash -c "cat < /dev/tcp/127.0.0.1/${port}"`,
      );
      assert.equal(output, "machine\n");
    } finally {
      server.close();
    }
  });

  rule(
    "the hostname is the pod's",
    async (pod) => {
      await pod.run({ hostname: "its-name" });
      assert.equal((await pod.ended("hostname")).output, "its-name\n");
    },
    "hostname of its own",
  );

  rule(
    "the name servers are the pod's",
    async (pod) => {
      await pod.run({ dns: { servers: ["10.0.0.10"], searches: ["a.b"], options: ["ndots:5"] } });
      const { output } = await pod.ended("cat /etc/resolv.conf");
      assert.deepEqual(output.trim().split("\n"), ["search a.b", "nameserver 10.0.0.10", "options ndots:5"]);
    },
    "name servers of its own",
  );

  rule(
    "containers see their own processes, or the pod's if they share them",
    async (pod) => {
      await pod.run({ shareProcessNamespace: true });
      await pod.start("exec sleep 12345");
      await eventually(async () => assert.match((await pod.ended("ps")).output, /sleep 12345/));
      const alone = new ContractPod(pod.machine, pod.node);
      try {
        await alone.run();
        await alone.start("exec sleep 12345");
        assert.doesNotMatch((await alone.ended("ps")).output, /sleep 12345/);
      } finally {
        await alone.remove();
      }
    },
    "private processes",
  );

  rule(
    "a container that needs more memory than it may have is OOMKilled",
    async (pod) => {
      await pod.run();
      const resources = { memoryLimitBytes: 20 << 20 };
      const { container } = await pod.ended(
        "head -c 100000000 /dev/zero | tail -c 90000000 > /dev/null; exit 9",
        {
          command: ["sh", "-c", "exec tail -c 90000000 /dev/zero"],
          resources,
        },
      );
      assert.deepEqual([container.exitCode, container.reason], [137, "OOMKilled"]);
    },
    "bounds of resources",
  );

  rule(
    "bounds are changed while a container runs",
    async (pod) => {
      await pod.run();
      const { id } = await pod.start("sleep 1000", { resources: { cpuShares: 512, cpusetCpus: "0" } });
      const cpus = async () => {
        const command = ["grep", "Cpus_allowed_list", "/proc/1/status"];
        return (await pod.node.service.execSync(id, command, 10_000)).output.split("\t")[1]?.trim();
      };
      assert.equal(await cpus(), "0");
      if (availableParallelism() < 2) return;
      await pod.node.service.updateContainerResources(id, { cpusetCpus: "1" });
      assert.equal(await cpus(), "1");
    },
    "bounds of resources",
  );

  rule(
    "the usage of a container is reported",
    async (pod) => {
      await pod.run();
      const { id } = await pod.start("while :; do :; done");
      await eventually(async () => {
        const all = await pod.node.service.listContainerStats();
        const stats = all.find(({ containerId }) => containerId === id);
        assert.ok((stats?.cpuNanoseconds ?? 0) > 0, "no CPU time");
        assert.ok((stats?.memoryWorkingSetBytes ?? 0) > 0, "no memory");
        assert.ok(Math.abs(Date.now() - (stats?.at ?? 0)) < 60_000);
      });
    },
    "statistics",
  );

  rule("changes of a container are reported with the UID of its pod", async (pod) => {
    await pod.run();
    const changed = new Set<string>();
    const stop = pod.node.service.onChange((uid) => changed.add(uid));
    const { id } = await pod.start("sleep 0.5");
    await pod.exited(id);
    await eventually(async () => assert.ok(changed.has(pod.uid)));
    changed.clear();
    const other = await pod.start("sleep 0.5");
    await eventually(async () => assert.ok(changed.has(pod.uid)));
    stop();
    await pod.exited(other.id);
    changed.clear();
    await pod.ended("exit 0");
    assert.equal(changed.size, 0);
  });

  rule("a sandbox that is stopped ends its containers; logs outlive it", async (pod) => {
    await pod.run();
    const { id, logPath } = await pod.start("echo here; sleep 1000");
    await untilPrinted(pod.node, logPath, "here\n");
    await pod.node.service.stopPodSandbox(pod.sandboxId);
    assert.equal((await pod.exited(id)).exitCode, 137);
    await pod.node.service.removePodSandbox(pod.sandboxId);
    assert.deepEqual(await pod.node.service.listContainers(pod.uid), []);
    assert.equal(textOf(await collect(pod.node.service.readLog(logPath, undefined))), "here\n");
  });

  rule("images are found by their names, or not at all", async (pod) => {
    const image = await pod.node.images.imageStatus(pod.machine.image, true);
    assert.ok(image !== undefined && image.ref !== "");
    assert.equal(await pod.node.images.imageStatus("localhost/no/such:image", false), undefined);
    await assert.rejects(
      pod.node.images.pullImage("Not A Name", []),
      (error: Error & { reason?: string }) =>
        error.reason === (pod.node.images.pulls ? "InvalidImageName" : "ErrImageNeverPull"),
    );
  });
}

/** Waits until the log contains these words. */
export async function untilPrinted(node: NodeRuntime, logPath: string, words: string): Promise<void> {
  await eventually(async () => {
    const printed = textOf(await collect(node.service.readLog(logPath, undefined)));
    assert.ok(printed.includes(words), printed);
  });
}
