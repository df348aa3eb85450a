/** Evaluates a device selector, with `@dray/cel` alone. */
import { costLimit, deviceEnvironment } from "@dray/cel";

const environment = deviceEnvironment({ stored: true });
const selector = environment.compile('device.attributes["gpu.example.com"].model == "a100"');
if (!selector.ok) throw new Error(selector.error);
if (selector.maxCost > costLimit) throw new Error("too complex");
const { matches, cost } = selector.evaluate({
  driver: "gpu.example.com",
  attributes: { model: { string: "a100" } },
});

declare const console: { log(text: string): void };
console.log(JSON.stringify({ matches, cost }));
