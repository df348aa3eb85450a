import { silentLog, systemClock } from "@dray/client";
import { runtimeContract } from "../../testing/runtime-contract/contract.ts";
import { TestContainerd, testImage, withoutContainerd } from "../../testing/test-containerd.ts";
import { CriRuntime } from "./runtime.ts";

runtimeContract("containerd", {
  skip: withoutContainerd,
  cannot: {
    "kills commands of clients that go away": "containerd waits for them (execInContainer)",
  },
  async begin() {
    const containerd = new TestContainerd();
    await containerd.start();
    return {
      folder: containerd.folder,
      image: testImage,
      cdi: containerd.cdi,
      open() {
        const service = new CriRuntime({
          endpoint: containerd.socket,
          node: "node",
          clock: systemClock,
          log: silentLog,
          cgroupRoot: containerd.cgroupRoot,
        });
        return { service, images: service.images };
      },
      close: () => containerd.close(),
    };
  },
});
