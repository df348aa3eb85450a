import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventuallyPasses } from "@dray/testing/eventually";
import type { SecurityConfig } from "../../runtime/config.ts";
import { plainSecurity } from "./pod.ts";
import type { Rule } from "./rule.ts";
import type { Lacking } from "./types.ts";

/** Rules of the program of a container. */
export function programRules(rule: Rule): void {
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
}

/** Rules of mounts and devices. */
export function fileRules(rule: Rule, cannot: Lacking): void {
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
    await eventuallyPasses(async () => {
      const { output } = await pod.ended("echo $CDI_DEVICE", { cdiDevices: [`${kind}=one`] });
      assert.equal(output, "one\n");
    });
    await assert.rejects(
      pod.start("exit 0", { cdiDevices: [`${kind}=two`] }),
      (error: Error) => error.name === "RuntimeError" && error.message.includes(`${kind}=two`),
    );
  });
}
