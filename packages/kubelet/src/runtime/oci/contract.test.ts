import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cdiRegistry } from "@dray/cdi";
import { silentLog, systemClock } from "@dray/client";
import { runtimeContract } from "../../testing/runtime-contract/contract.ts";
import { writeImages } from "../../testing/test-image.ts";
import { OciImages } from "./images/service.ts";
import { OciRuntime } from "./runtime.ts";
import { lackOfContainers } from "./testing/runtime.ts";

runtimeContract("oci", {
  skip: await lackOfContainers(),
  async begin() {
    const folder = mkdtempSync(join(tmpdir(), "dray-oci-"));
    const cdi = join(folder, "cdi");
    mkdirSync(cdi);
    const image = "localhost/busybox:1";
    writeImages(join(folder, "image.tar"), [{ name: image, config: { Entrypoint: ["env"], Cmd: ["sh"] } }]);
    const images = await OciImages.open({ directory: join(folder, "images"), now: Date.now });
    await images.importImages(join(folder, "image.tar"));
    const alive = setInterval(() => {}, 1000);
    const open = (): OciRuntime =>
      new OciRuntime({
        directory: join(folder, "node"),
        networkDirectory: join(folder, "network"),
        nodeName: "node",
        nodeAddress: "127.0.0.1",
        hostNetwork: "machine",
        networkNamespaces: join(folder, "netns"),
        nodePath: (path) => path,
        images,
        cdi: cdiRegistry([cdi]),
        hostPath: (path) => path,
        clock: systemClock,
        newId: randomUUID,
        log: silentLog,
      });
    return {
      folder,
      image,
      cdi,
      open: () => ({ service: open(), images }),
      async close() {
        const last = open();
        await last.start();
        await last.destroy();
        await images.removeImage(image);
        images.close();
        clearInterval(alive);
        rmSync(folder, { recursive: true });
      },
    };
  },
});
