import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { silentLog, systemClock } from "@dray/client";
import { memoryStore } from "@dray/store";
import { realTime } from "@dray/testing/eventually";
import { choosePort, ensureCredentials, layoutOf, serverAddresses, startControlPlane } from "../index.ts";

test("a start that waits for something can be given up, and leaves nothing that listens", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dray-controlplane-"));
  try {
    const credentials = await ensureCredentials(layoutOf(folder), [], Date.now());
    const store = memoryStore(systemClock);
    const bindAddress = "127.0.0.1";
    const port = await choosePort(bindAddress, 0);
    const stop = new AbortController();
    // The scheduler waits for an API that is not there.
    const starting = startControlPlane({
      store,
      credentials,
      kubernetesVersion: "1.37",
      runtime: "host",
      featureGates: "",
      runtimeConfig: { "storage.k8s.io/v1": false },
      bindAddress,
      addresses: serverAddresses({ bind: bindAddress }),
      port,
      clock: systemClock,
      log: silentLog,
      signal: stop.signal,
    });
    const givenUp = assert.rejects(starting, { message: "given up" });
    await realTime(300, "nothing says how far the start has come");
    stop.abort(new Error("given up"));
    await givenUp;
    assert.equal(await choosePort(bindAddress, port), port);
    await store.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
