import assert from "node:assert/strict";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "@dray/testing/eventually";
import { inFolder, output, processesWith, start } from "../../testing/program.ts";

/**
 * Runs the demo with temporary files in a separate folder, and checks at the end that all of them are gone.
 */
async function played(
  work: (demo: {
    child: ReturnType<typeof start>;
    text: () => string;
    ended: ReturnType<typeof output>;
  }) => Promise<void>,
  flags: readonly string[] = [],
): Promise<void> {
  await inFolder(async (folder) => {
    const temporary = join(folder, "tmp");
    mkdirSync(temporary);
    const child = start(
      ["demo", ...flags],
      { TMPDIR: temporary, HOME: folder },
      { detached: true, stdin: flags.length > 0 ? "pipe" : "ignore" },
    );
    let stdout = "";
    child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    try {
      await work({ child, text: () => stdout, ended: output(child) });
    } finally {
      child.kill("SIGKILL");
    }
    assert.deepEqual(readdirSync(temporary), []);
    assert.deepEqual(processesWith(temporary), []);
  });
}

const moments: [name: string, reached: RegExp][] = [
  ["while the cluster starts", /^Start a cluster/],
  ["once it is ready", /is ready at https/],
  ["while it waits for the driver", /\$ kubectl apply .*daemonset\.yaml\n/],
  ["while it stops", /\nStop the cluster\n/],
];
for (const [name, reached] of moments) {
  test(`the demo leaves nothing behind after Ctrl-C ${name}`, () =>
    played(async ({ child, text, ended }) => {
      // In the last step the first Ctrl-C ends the demo early.
      if (reached.source.includes("Stop")) {
        await eventually("it starts", () => text().includes("ready at"));
        process.kill(-child.pid!, "SIGINT");
      }
      await eventually(name, () => reached.test(text()));
      process.kill(-child.pid!, "SIGINT");
      process.kill(-child.pid!, "SIGINT");
      const { code, stderr } = await ended;
      assert.equal(code, 130, stderr);
      assert.doesNotMatch(stderr, /\n +at /);
    }));
}

test("the demo leaves nothing behind after SIGTERM or when its output is closed", async () => {
  await played(async ({ child, text, ended }) => {
    await eventually("it has begun", () => text().includes("Start a cluster"));
    child.kill("SIGTERM");
    assert.equal((await ended).code, 130);
  });
  await played(async ({ child, text, ended }) => {
    await eventually("it is ready", () => text().includes("is ready at"));
    child.stdout?.destroy();
    await ended;
  });
});

test("the demo leaves nothing behind when its input ends at a pause", () =>
  played(
    async ({ child, text, ended }) => {
      await eventually("it waits", () => text().includes("Enter goes on"));
      child.stdin?.end();
      assert.equal((await ended).code, 130);
    },
    ["--pause"],
  ));
