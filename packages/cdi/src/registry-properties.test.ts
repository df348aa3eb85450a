import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { cdiRegistry, UnresolvableDevicesError } from "./index.ts";

test("a device in several files resolves to the highest priority, and not at all among equals", async () => {
  const root = mkdtempSync(join(tmpdir(), "dray-cdi-properties-"));
  try {
    const file = fc.record({
      folder: fc.nat(1),
      name: fc.constantFrom("a", "b", "c"),
      kind: fc.constantFrom("v/c", "v/d"),
      devices: fc.uniqueArray(fc.constantFrom("x", "y", "z"), { minLength: 1 }),
      broken: fc.nat(5).map((one) => one === 0),
    });
    let round = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(file, { maxLength: 6, selector: ({ folder, name }) => `${folder}${name}` }),
        async (files) => {
          const folders = [join(root, `${++round}-etc`), join(root, `${round}-run`)];
          for (const folder of folders) mkdirSync(folder);
          const defined = new Map<string, string[][]>();
          for (const { folder, name, kind, devices, broken } of files) {
            const spec = {
              cdiVersion: "0.3.0",
              kind,
              devices: devices.map((device) => ({
                name: device,
                containerEdits: { env: [`FROM=${folder}/${name}/${device}`] },
              })),
            };
            writeFileSync(join(folders[folder]!, `${name}.json`), broken ? "{" : JSON.stringify(spec));
            if (broken) continue;
            for (const device of devices) {
              const places = defined.get(`${kind}=${device}`) ?? [[], []];
              places[folder]!.push(`FROM=${folder}/${name}/${device}`);
              defined.set(`${kind}=${device}`, places);
            }
          }
          const registry = cdiRegistry(folders);
          const resolving: string[] = [];
          for (const [device, places] of defined) {
            const highest = places.findLast((one) => one.length > 0)!;
            if (highest.length > 1) {
              await assert.rejects(registry.resolve([device]), UnresolvableDevicesError);
            } else {
              resolving.push(device);
              assert.deepEqual((await registry.resolve([device])).env, highest);
            }
          }
          assert.deepEqual(await registry.devices(), resolving.sort());
          await assert.rejects(registry.resolve([...resolving, "v/c=w"]), UnresolvableDevicesError);
        },
      ),
      { numRuns: 40 },
    );
  } finally {
    rmSync(root, { recursive: true });
  }
});
