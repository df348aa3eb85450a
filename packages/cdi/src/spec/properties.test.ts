import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { stringify } from "yaml";
import {
  CdiError,
  minimumVersion,
  parseQualifiedName,
  parseSpec,
  qualifiedName,
  type Spec,
  validateSpec,
} from "../index.ts";
import { content, versions } from "../testing/arbitraries.ts";

// Compares the package with models that state each rule of the specification as simply as possible.

/** Returns the version that a spec needs. */
function neededModel(spec: Omit<Spec, "cdiVersion">): string {
  const needs = ["0.3.0"];
  const all = [spec.containerEdits ?? {}, ...spec.devices.map((device) => device.containerEdits)];
  for (const one of all) {
    if (one.netDevices?.length || one.intelRdt?.schemata || one.intelRdt?.enableMonitoring)
      needs.push("1.1.0");
    if (one.intelRdt || one.additionalGids?.length) needs.push("0.7.0");
    if (one.deviceNodes?.some(({ hostPath }) => hostPath)) needs.push("0.5.0");
    if (one.mounts?.some(({ type }) => type)) needs.push("0.4.0");
  }
  if (Object.keys(spec.annotations ?? {}).length > 0 || spec.kind.split("/")[1]!.includes("."))
    needs.push("0.6.0");
  if (spec.devices.some(({ name }) => name[0]! >= "0" && name[0]! <= "9")) needs.push("0.5.0");
  return needs.sort().at(-1)!;
}

test("a spec comes back from JSON and from YAML as it was, in the lowest version that suffices and any higher", () => {
  fc.assert(
    fc.property(content, fc.nat(7), (one, extra) => {
      const minimum = minimumVersion(one);
      assert.equal(minimum, neededModel(one));
      const version = versions[Math.min(versions.indexOf(minimum) + extra, 7)]!;
      const spec = { cdiVersion: version, ...one };
      assert.deepEqual(parseSpec(JSON.stringify(spec)), spec);
      assert.deepEqual(parseSpec(stringify(spec)), spec);
    }),
  );
});

test("one device: a lower version than what it uses needs is refused", () => {
  fc.assert(
    fc.property(content, fc.nat(7), (one, index) => {
      const spec = { ...one, devices: one.devices.slice(0, 1), cdiVersion: versions[index]! };
      const accepted = versions.indexOf(minimumVersion(spec)) <= index;
      if (accepted) assert.equal(validateSpec(spec), spec);
      else assert.throws(() => validateSpec(spec), /^CdiError: cdiVersion: .* is too low/);
    }),
  );
});

test("accepts any value in place of a part of a spec, or throws a CdiError that names the part", () => {
  const anything = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom("..", "a\nb", "rwmx", -1, 2 ** 53, 0.5),
  );
  fc.assert(
    fc.property(
      content,
      fc.array(fc.nat(20), { minLength: 1, maxLength: 5 }),
      anything,
      (one, way, value) => {
        const spec = structuredClone({ cdiVersion: "1.1.0", ...one }) as unknown;
        let at = spec as Record<string, unknown>;
        const names: string[] = [];
        for (const step of way) {
          const keys = Object.keys(at);
          if (keys.length === 0) break;
          const key = keys[step % keys.length]!;
          names.push(key);
          const next = at[key];
          if (typeof next !== "object" || next === null || names.length === way.length) {
            at[key] = value;
            break;
          }
          at = next as Record<string, unknown>;
        }
        try {
          assert.equal(validateSpec(spec), spec);
        } catch (error) {
          assert.ok(error instanceof CdiError, String(error));
          // A wrong kind or name may be the reason for the higher version.
          const [first] = error.message.split(/[.[:]/);
          assert.ok(first === names[0] || first === "cdiVersion", `${error.message} for ${names.join(".")}`);
        }
      },
    ),
  );
});

test("parses every qualified name that it formats, and rejects others", () => {
  const letters = "abzABZ";
  const digits = "019";
  const middle = `${letters}${digits}_.-`;
  /** The grammar of the specification, character by character. */
  const isName = (name: string, first: string, between: string): boolean =>
    name !== "" &&
    first.includes(name[0]!) &&
    `${letters}${digits}`.includes(name.at(-1)!) &&
    [...name.slice(1, -1)].every((one) => between.includes(one));
  const part = fc.string({ unit: fc.constantFrom(..."abz019AZ_.-:/= \n"), maxLength: 4 });
  fc.assert(
    fc.property(part, part, part, (vendor, type, device) => {
      const valid =
        isName(vendor, letters, middle) &&
        isName(type, letters, middle) &&
        isName(device, `${letters}${digits}`, `${middle}:`);
      const name = qualifiedName(`${vendor}/${type}`, device);
      if (valid) assert.deepEqual(parseQualifiedName(name), { vendor, class: type, device });
      else if (![vendor, type, device].some((one) => /[/=]/.test(one))) {
        assert.throws(() => parseQualifiedName(name), CdiError);
      }
    }),
    { numRuns: 1000 },
  );
});
