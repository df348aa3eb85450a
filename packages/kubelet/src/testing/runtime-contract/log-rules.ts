import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { dirname } from "node:path";
import type { LogLine } from "../../runtime/service.ts";
import { collect, never, textOf, untilPrinted } from "./pod.ts";
import type { Rule } from "./rule.ts";

/** Rules of logs. */
export function logRules(rule: Rule): void {
  rule("logs have every line once, with its time, and lines of any length whole", async (pod) => {
    await pod.run();
    const before = Date.now();
    // The outputs may be copied separately: a line of one can split a long one of the other.
    const script =
      "echo one; echo two >&2; sleep 0.5; head -c 100000 /dev/zero | tr '\\0' x; echo; printf end";
    const { id, logPath } = await pod.start(script);
    await pod.exited(id);
    const lines = await collect(pod.node.service.readLog(logPath));
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

  rule("a log can be read by its owner and group only, its folder by all", async (pod) => {
    await pod.run();
    const { id, logPath } = await pod.start("echo one");
    await pod.exited(id);
    assert.equal(statSync(logPath).mode & 0o777, 0o640);
    assert.equal(statSync(dirname(logPath)).mode & 0o777, 0o755);
  });

  rule("a log is followed until the container ends, or the reader gives up", async (pod) => {
    await pod.run();
    const { logPath } = await pod.start("for i in 1 2 3; do echo $i; sleep 0.3; done");
    const lines = await collect(pod.node.service.readLog(logPath, { follow: never }));
    assert.equal(textOf(lines), "1\n2\n3\n");
    const other = await pod.start("echo here; sleep 1000");
    const stop = new AbortController();
    const seen: LogLine[] = [];
    for await (const lines of pod.node.service.readLog(other.logPath, { follow: stop.signal })) {
      for (const line of lines) seen.push(line);
      stop.abort();
    }
    assert.equal(textOf(seen), "here\n");
  });

  rule(
    "a log that is rotated loses nothing",
    async (pod) => {
      await pod.run();
      const { id, logPath } = await pod.start("for i in $(seq 200); do echo $i; sleep 0.01; done");
      const followed = collect(pod.node.service.readLog(logPath, { follow: never }));
      await untilPrinted(pod.node, logPath, "20\n");
      const old = `${logPath}.old`;
      await pod.node.service.rotateContainerLog(id, old);
      const all = Array.from({ length: 200 }, (_, index) => `${index + 1}\n`).join("");
      assert.equal(textOf(await followed), all);
      await pod.exited(id);
      const parts = [old, logPath].map((path) => collect(pod.node.service.readLog(path)));
      const [first, second] = (await Promise.all(parts)).map(textOf);
      assert.equal(`${first}${second}`, all);
      assert.match(first ?? "", /^1\n/);
      assert.notEqual(second, all);
    },
    "rotation under readers",
  );
}
