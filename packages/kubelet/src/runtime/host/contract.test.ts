import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cdiRegistry } from "@dray/cdi";
import { silentLog, systemClock } from "@dray/client";
import { isolations } from "../../testing/agent.ts";
import { runtimeContract } from "../../testing/runtime-contract/contract.ts";
import { HostRuntime } from "./host.ts";
import { ImageTable } from "./images.ts";

const shared = "containers are processes of the machine";

for (const isolation of isolations) {
  runtimeContract(`host, ${isolation}`, {
    cannot: {
      "network of its own": shared,
      "hostname of its own": shared,
      "name servers of its own": shared,
      "program of the image": "images stand for commands",
      "device nodes": shared,
      "bounds of resources": "it bounds none",
      "rotation under readers": "the program holds its log open",
      statistics: shared,
      ...(isolation === "plain" && { "read-only mounts": shared, "private processes": shared }),
    },
    async begin() {
      const root = mkdtempSync("/tmp/dk-");
      const cdi = join(root, "cdi");
      mkdirSync(cdi);
      const alive = setInterval(() => {}, 1000);
      return {
        folder: root,
        image: "busybox",
        cdi,
        open() {
          const images = new ImageTable([]);
          const service = new HostRuntime({
            directory: join(root, "runtime"),
            podsDirectory: join(root, "pods"),
            rootDir: root,
            nodeAddress: "127.0.0.1",
            images,
            isolation: isolation === "plain" ? "plain" : "auto",
            cgroups: isolation === "pids" ? "none" : "auto",
            cdi: cdiRegistry([cdi]),
            hostPath: (path) => path,
            clock: systemClock,
            newId: randomUUID,
            log: silentLog,
          });
          return { service, images };
        },
        async close() {
          clearInterval(alive);
          rmSync(root, { recursive: true });
        },
      };
    },
  });
}
