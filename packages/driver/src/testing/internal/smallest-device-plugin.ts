import { systemClock } from "@dray/client";
import { type DevicePlugin, runDevicePlugin } from "@dray/driver/device-plugin";

export const lamps: DevicePlugin = {
  name: "example.com/lamp",
  async *discover() {
    yield [
      { id: "lamp-0", numaNodes: [0] },
      { id: "lamp-1", numaNodes: [1] },
    ];
  },
  allocate: (ids) => ({
    env: { LAMPS: ids.join() },
    devices: ids.map(() => ({ hostPath: "/dev/null", containerPath: "/dev/lamp" })),
  }),
};

export async function main(directory: string, signal: AbortSignal) {
  const log = { debug() {}, info: say, warn: say, error: say };
  await runDevicePlugin(lamps, { directory, clock: systemClock, log, signal });
}

function say(fields: object, message: string): void {
  process.stderr.write(`${message} ${JSON.stringify(fields)}\n`);
}
