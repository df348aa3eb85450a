import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "@dray/client";
import { fillDisk, smallDisk, withoutMounts } from "../../../../store/src/testing/disk.ts";
import { HostContainer } from "./container.ts";
import { LogTimes } from "./logs.ts";
import { bootId } from "./processes.ts";
import type { ContainerRecord } from "./records.ts";

test("on a full disk a container's log is followed all the same, and times are noted again later", {
  skip: withoutMounts,
}, async (t) => {
  const disk = smallDisk(t, 1);
  const path = join(disk, "c.log");
  writeFileSync(path, "first\n");
  const free = fillDisk(disk);
  const times = new LogTimes(path, systemClock);
  const grown = (): Promise<void> => new Promise((resolve) => times.onGrowth(resolve));
  const first = grown();
  // Its own page has room.
  appendFileSync(path, "second\n");
  await first;
  free();
  const second = grown();
  appendFileSync(path, "third\n");
  await second;
  times.close();
});

test("on a full disk a container that has ended is reported with its exit code", {
  skip: withoutMounts,
}, (t) => {
  const disk = smallDisk(t, 1);
  for (const [name, exit] of [
    ["word", 3],
    ["lost", undefined],
  ] as const) {
    const directory = join(disk, name);
    mkdirSync(directory);
    const logPath = join(directory, "log");
    writeFileSync(logPath, "");
    const record = {
      id: name,
      sandboxId: "s",
      config: { name, logPath },
      imageRef: "i",
      createdAt: 1,
      bootId: bootId(),
    } as unknown as ContainerRecord;
    let changes = 0;
    const container = new HostContainer(directory, record, systemClock, {
      changed: () => changes++,
      hint: () => undefined,
    });
    container.watch();
    writeFileSync(join(directory, "start"), `started ${readFileSync(`/proc/${process.pid}/stat`, "utf8")}`);
    if (exit !== undefined) writeFileSync(join(directory, "exit"), `${exit}\n`);
    writeFileSync(logPath, "x");
    const free = fillDisk(disk);
    container.refresh();
    assert.equal(changes, 1);
    assert.equal(container.status().exitCode, exit ?? 137);
    container.unwatch();
    free();
  }
});
